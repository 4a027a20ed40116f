import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Json } from '../domain/json.js';

export interface Route {
  /** `GET` reads and is open to whoever may connect; `POST` changes something and needs the token. */
  readonly method: 'GET' | 'POST';
  readonly path: string;
  answer(c: RouteContext): Answer | Promise<Answer>;
}

export type RouteContext = Context<{ Bindings: HttpBindings }>;

export interface Answer {
  readonly status: ContentfulStatusCode;
  readonly body: Json;
}

export function refusal(status: ContentfulStatusCode, code: string, message: string): Answer {
  return { status, body: { error: { code, message } } };
}
