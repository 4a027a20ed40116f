import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { BatonError } from '../domain/errors.js';
import { isLoopback, withoutBrackets } from '../domain/host.js';
import { type Access, type Admit, admitByToken, admitOwner, createGuard } from './access.js';
import { createRoutes, type Route, type RouteContext, refusal, type StatusSource } from './routes.js';

export interface HttpOptions {
  readonly source: StatusSource;
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  readonly allowedHosts: readonly string[];
  /** Whoever shows it may change things. */
  readonly token: string;
  /** It is the operator's own: asked for everything, and enough to listen where others can connect. */
  readonly isOwnToken: boolean;
  readonly limits?: Partial<HttpLimits>;
}

interface SocketOptions {
  readonly source: StatusSource;
  readonly path: string;
  /** What only the owner may ask. */
  readonly routes: readonly Route[];
  readonly limits?: Partial<HttpLimits>;
}

export interface HttpLimits {
  /** For all headers of a request, from the first byte or the connection on. */
  readonly headersMs: number;
  /** For a whole request. */
  readonly requestMs: number;
  /** For the answer to be taken. */
  readonly responseMs: number;
  readonly keepAliveMs: number;
  readonly connections: number;
}

export interface Closable {
  /** Answers in flight are cut off. */
  close(): Promise<void>;
}

export interface HttpServer extends Closable {
  /** Where it really listens, for people: `http://127.0.0.1:4711`. */
  readonly url: string;
  readonly port: number;
}

const LIMITS: HttpLimits = {
  headersMs: 5_000,
  requestMs: 10_000,
  responseMs: 30_000,
  keepAliveMs: 5_000,
  connections: 100,
};

/** Serves page and API to whoever is on this machine; with a token of the operator's also elsewhere. Throws `BatonError` when it cannot. */
export async function startHttp(options: HttpOptions): Promise<HttpServer> {
  const host = withoutBrackets(options.host.trim());
  const isAllowed = (address: string) => options.isOwnToken || isLoopback(address);
  if (!isAllowed(host)) throw notLoopback(options.host);
  const limits = { ...LIMITS, ...options.limits };
  const server = createLimitedServer(limits);
  const failed = (error: NodeJS.ErrnoException) => cannotListen(error, host, options.port);
  await listen(server, { host, port: options.port }, failed);
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw failed(new Error('no address'));
  const close = closeOnce(server);
  if (!isAllowed(bound.address)) {
    await close();
    throw notLoopback(`${options.host} (${bound.address})`);
  }
  const guard = createGuard(host, bound.port, options.allowedHosts);
  const admit = admitByToken(guard, options.token, options.isOwnToken);
  serve(
    server,
    answerRequests(options.source, admit, { responseMs: limits.responseMs, isOwner: false }),
    options.source,
  );
  const name = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address;
  return { url: `http://${name}:${bound.port}`, port: bound.port, close };
}

/** The same for the daemon's own user, over a socket in its state directory. Nothing may be at that path. */
export async function startSocket({ source, path, routes, ...options }: SocketOptions): Promise<Closable> {
  const limits = { ...LIMITS, ...options.limits };
  const server = createLimitedServer(limits);
  await listen(server, { path }, (error) => error);
  serve(
    server,
    answerRequests(source, admitOwner, { responseMs: limits.responseMs, isOwner: true, more: routes }),
    source,
  );
  return { close: closeOnce(server) };
}

function createLimitedServer(limits: HttpLimits): Server {
  const server = createServer({
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    // How late a slow client is noticed; Node's own 30 s would outlast every limit above.
    connectionsCheckingInterval: Math.min(1_000, limits.headersMs),
    maxHeaderSize: 8_192,
  });
  server.maxConnections = limits.connections;
  return server;
}

function serve(server: Server, answer: AnswerRequest, { onError }: StatusSource): void {
  server.on('error', (error) => onError(error));
  server.on('request', answer);
  // Who waits to be asked for its body is asked by the route that takes one, and by no other.
  server.on('checkContinue', answer);
}

type Where = { readonly host: string; readonly port: number } | { readonly path: string };

function listen(server: Server, where: Where, failed: (error: NodeJS.ErrnoException) => Error): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException) => reject(failed(error));
    server.once('error', fail);
    server.listen(where, () => {
      server.off('error', fail);
      resolve();
    });
  });
}

function closeOnce(server: Server): () => Promise<void> {
  let closing: Promise<void> | null = null;
  return () => {
    closing ??= new Promise((resolve) => {
      server.close(() => resolve());
      // Otherwise a client that keeps its connection open would keep the daemon alive.
      server.closeAllConnections();
    });
    return closing;
  };
}

function cannotListen(error: NodeJS.ErrnoException, host: string, port: number): BatonError {
  const details = { host, port };
  if (error.code === 'EADDRINUSE') {
    const message = `Port ${port} of ${host} is taken, perhaps by another daemon. Give another with --port or server.port; --port 0 takes any free one.`;
    return new BatonError('port_in_use', message, details, { cause: error });
  }
  const message = `Cannot listen on ${host}, port ${port} (${error.message}). Check server.host and server.port or --port; ports below 1024 need rights.`;
  return new BatonError('invalid_workflow_config', message, details, { cause: error });
}

function notLoopback(host: string): BatonError {
  const message = `server.host is ${host}, which others on the network can reach. Set server.token (best as $NAME), which every request must then show, or set server.host to 127.0.0.1 and use an SSH tunnel.`;
  return new BatonError('invalid_workflow_config', message, { host });
}

interface AnswerOptions {
  readonly responseMs: number;
  /** Over the socket, where the daemon's own user asks. */
  readonly isOwner: boolean;
  readonly more?: readonly Route[];
}

type AnswerRequest = (request: IncomingMessage, response: ServerResponse) => void;

/** From a request to its answer: who asks is looked at first, and what is slow is cut off. Streams may take as long as they like. */
function answerRequests(
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
