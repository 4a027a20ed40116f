import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Json } from '../domain/json.js';
import type { Access } from './access.js';

export interface Route {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** What a request must be allowed. Without it: to look for GET, everything for POST. */
  readonly needs?: Access;
  answer(c: RouteContext): Answer | Promise<Answer>;
}

export type RouteContext = Context<{ Bindings: HttpBindings }>;

/** JSON, a text of its own type, or nothing more to say because the route has answered by itself. */
export type Answer =
  | { readonly status: ContentfulStatusCode; readonly body: Json }
  | {
      readonly status: ContentfulStatusCode;
      readonly text: string | Buffer;
      readonly headers: { readonly [name: string]: string };
    }
  | 'sent';

export type Refusal = Extract<Answer, { readonly body: Json }>;

export function refusal(status: ContentfulStatusCode, code: string, message: string): Refusal {
  return { status, body: { error: { code, message } } };
}
