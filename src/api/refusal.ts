import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Json, JsonObject } from '../domain/json.js';

/** An answer in JSON that says why the request was not done. */
export interface Refusal {
  readonly status: ContentfulStatusCode;
  readonly body: Json;
}

/** `params`: the facts of the message, for programs. */
export function refusal(
  status: ContentfulStatusCode,
  code: string,
  message: string,
  params: JsonObject | null = null,
): Refusal {
  return { status, body: { error: { code, message, ...(params && { params }) } } };
}

export const NEEDS_TOKEN = refusal(
  401,
  'unauthorized',
  'This request needs the token: send Authorization: Bearer <token>. `baton open` opens the page with it. Scripts find it in the file http-token of the state directory, new at each start of the daemon; server.token sets one that stays.',
);
