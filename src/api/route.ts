import type { IncomingMessage, ServerResponse } from 'node:http';
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

type Refusal = Extract<Answer, { readonly body: Json }>;

export function refusal(status: ContentfulStatusCode, code: string, message: string): Refusal {
  return { status, body: { error: { code, message } } };
}

const MAX_BODY_BYTES = 64 * 1024;
/** More than this is not even taken off the wire to answer in peace. */
const MAX_DISCARDED_BYTES = 1024 * 1024;

type JsonBody = { readonly value: unknown } | { readonly refused: Refusal };

/** The body of a request as JSON, or why it is none. How long it may take is a limit of the server: then the socket is gone. */
export async function readJsonBody(request: IncomingMessage, response: ServerResponse): Promise<JsonBody> {
  if (!isJson(request)) return { refused: WRONG_TYPE };
  if (Number(request.headers['content-length'] ?? 0) > MAX_DISCARDED_BYTES) return { refused: TOO_LARGE };
  if (request.headers.expect !== undefined) response.writeContinue();
  const bytes = await readUpTo(request, MAX_BODY_BYTES);
  if (bytes === 'too_large') return { refused: TOO_LARGE };
  if (bytes === 'gone') return { refused: NOT_JSON };
  try {
    return { value: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) };
  } catch {
    return { refused: NOT_JSON };
  }
}

/** For a route that takes no body: that of another type, as forms of a page send it, is refused all the same. */
export function refuseOtherType(request: IncomingMessage): Refusal | null {
  const { headers } = request;
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  return (hasBody || headers['content-type'] !== undefined) && !isJson(request) ? WRONG_TYPE : null;
}

function isJson({ headers }: IncomingMessage): boolean {
  return /^application\/json\s*(?:;|$)/i.test(headers['content-type'] ?? '');
}

/**
 * What is too large is read on for a while and dropped: a connection that is closed on a client that still sends is reset, and
 * its answer with it.
 */
async function readUpTo(request: IncomingMessage, maxBytes: number): Promise<Buffer | 'too_large' | 'gone'> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      bytes += (chunk as Buffer).length;
      if (bytes > MAX_DISCARDED_BYTES) return 'too_large';
      if (bytes <= maxBytes) chunks.push(chunk as Buffer);
    }
  } catch {
    return 'gone';
  }
  return bytes > maxBytes ? 'too_large' : Buffer.concat(chunks);
}

const WRONG_TYPE = refusal(
  415,
  'unsupported_media_type',
  'Only JSON is read here: send Content-Type: application/json.',
);
const TOO_LARGE = refusal(413, 'too_large', `A body has at most ${MAX_BODY_BYTES} bytes here.`);
const NOT_JSON = refusal(400, 'bad_request', 'The body is not valid JSON in UTF-8.');
