import type { IncomingMessage, ServerResponse } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { Access, Admit } from '../api/access.js';
import { type Route, type RouteContext, refusal } from '../api/route.js';
import { createRoutes, type StatusSource } from '../api/routes.js';

export interface AnswerOptions {
  readonly responseMs: number;
  /** Over the socket, where the daemon's own user asks. */
  readonly isOwner: boolean;
  readonly more?: readonly Route[];
}

export type AnswerRequest = (request: IncomingMessage, response: ServerResponse) => void;

/** From a request to its answer: who asks is looked at first, and what is slow is cut off. Streams may take as long as they like. */
export function answerRequests(
  source: StatusSource,
  admit: Admit,
  { responseMs, isOwner, more = [] }: AnswerOptions,
): AnswerRequest {
  const admitted = new WeakMap<IncomingMessage, Access>();
  const accessOf = (c: RouteContext) => admitted.get(c.env.incoming as IncomingMessage) ?? 'public';
  const route = getRequestListener(createRoutes(source, accessOf, { isOwner, more }).fetch, {
    // The daemon talks to trackers with Node's own Request and Response.
    overrideGlobalObjects: false,
    autoCleanupIncoming: false,
    errorHandler: () =>
      new Response(`${JSON.stringify(BAD_REQUEST.body)}\n`, { status: 400, headers: { 'content-type': JSON_TYPE } }),
  });
  const answering = new WeakSet<IncomingMessage['socket']>();
  return (request, response) => {
    const { socket } = request;
    // Nobody who means well sends a request before the last one is answered; hundreds of them at once would all be answered at once.
    if (answering.has(socket)) return void socket.destroy();
    answering.add(socket);
    for (const end of ['finish', 'close']) response.once(end, () => answering.delete(socket));
    limitTime(request, response, responseMs);
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    if (hasBody(request)) response.setHeader('connection', 'close');
    const who = admit(request);
    if ('access' in who) {
      admitted.set(request, who.access);
      return void route(request, response);
    }
    response.statusCode = 403;
    response.setHeader('content-type', JSON_TYPE);
    response.end(`${JSON.stringify(refusal(403, 'forbidden', who.refused).body)}\n`);
  };
}

/** A reader of the stream is dropped when it does not read, not when it reads for long. */
function limitTime(request: IncomingMessage, response: ServerResponse, responseMs: number): void {
  const late = setTimeout(() => {
    const isStream = String(response.getHeader('content-type') ?? '').startsWith('text/event-stream');
    if (!isStream) request.socket.destroy();
  }, responseMs);
  response.once('close', () => clearTimeout(late));
}

/** Most are not read, and none is read for longer than it may be: the connection ends with the answer. */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

const JSON_TYPE = 'application/json; charset=utf-8';
const BAD_REQUEST = refusal(400, 'bad_request', 'This is no request.');

/** The page has a policy of its own; nothing else is ever a document. */
const HEADERS: { readonly [name: string]: string } = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};
