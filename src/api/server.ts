import { createServer, IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { BatonError } from '../domain/errors.js';
import { isLoopback, withoutBrackets } from '../domain/host.js';
import { type Access, type Admit, admitByToken, admitOwner, bearsOneOf, createGuard } from './access.js';
import { Connections } from './connections.js';
import { NEEDS_TOKEN, refusal } from './refusal.js';
import type { Route, RouteContext, StatusSource } from './routes.js';
import { VERSION_HEADER } from './socket-address.js';

/** The routes and the packages below them take longer to load than the rest of a start, so the first request loads them. */
export interface LateRoutes {
  source(): Promise<StatusSource>;
  onError(error: unknown): void;
}

export interface HttpOptions extends LateRoutes {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly allowedHosts: readonly string[];
  /** The token of this start of the daemon. */
  readonly token: string;
  /** The token of the operator, which stays the same. With it the server may listen on addresses other than loopback. */
  readonly fixedToken: string | null;
  readonly limits?: Partial<HttpLimits>;
}

export interface SocketOptions extends LateRoutes {
  readonly path: string;
  /** Of the daemon. */
  readonly version: string;
  /** Routes that only the owner has. */
  routes(): Promise<readonly Route[]>;
  readonly limits?: Partial<HttpLimits>;
}

export interface HttpLimits {
  /** For the headers of a request, from the connection or the first byte on. */
  readonly headersMs: number;
  /** For a whole request. */
  readonly requestMs: number;
  /** For the client to read the answer. */
  readonly responseMs: number;
  /** For a client without the token to read the answer. */
  readonly strangerMs: number;
  readonly keepAliveMs: number;
  /** Connections over the socket, and connections over the port that have shown the token. */
  readonly connections: number;
  /** Connections over the port that have not shown the token. */
  readonly strangers: number;
}

export interface Closable {
  /** Cuts off answers that are being sent. */
  close(): Promise<void>;
}

export interface HttpServer extends Closable {
  /** `http://127.0.0.1:4711`, with the actual port. */
  readonly url: string;
  readonly port: number;
}

const LIMITS: HttpLimits = {
  headersMs: 5_000,
  requestMs: 10_000,
  responseMs: 30_000,
  strangerMs: 10_000,
  keepAliveMs: 5_000,
  connections: 100,
  strangers: 64,
};

/** Serves page and API on loopback; with a token of the operator also on other addresses. Throws `BatonError`. */
export async function startHttp(options: HttpOptions): Promise<HttpServer> {
  const host = withoutBrackets(options.host.trim());
  const isAllowed = (address: string) => options.fixedToken !== null || isLoopback(address);
  if (!isAllowed(host)) throw notLoopback(options.host);
  const limits = { ...LIMITS, ...options.limits };
  const tokens = options.fixedToken === null ? [options.token] : [options.token, options.fixedToken];
  const server = createLimitedServer(limits, (request) => bearsOneOf(tokens, request));
  const failed = (error: NodeJS.ErrnoException) => cannotListen(error, host, options.port);
  await listen(server, { host, port: options.port }, failed);
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw failed(new Error('no address'));
  const close = closeOnce(server);
  if (!isAllowed(bound.address)) {
    await close();
    throw notLoopback(`${options.host} (${bound.address})`);
  }
  const { address, port } = bound;
  const guard = createGuard({ host, address, port }, options.allowedHosts);
  const connections = new Connections({ strangers: limits.strangers, holders: limits.connections });
  server.on('connection', (socket) => connections.add(socket));
  const more = async () => {
    const { proofRoute } = await import('./routes.js');
    return [proofRoute(tokens, (request) => guard.leadsHere(request))];
  };
  serve(server, answerRequests(options, admitByToken(guard, tokens), { limits, connections, more }), options);
  const name = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address;
  return { url: `http://${name}:${bound.port}`, port: bound.port, close };
}

/** Serves the API to the daemon's own user over a socket. There must be no file at that path. */
export async function startSocket(options: SocketOptions): Promise<Closable> {
  const { path, version, routes } = options;
  const limits = { ...LIMITS, ...options.limits };
  const server = createLimitedServer(limits, () => true);
  server.maxConnections = limits.connections;
  await listen(server, { path }, (error) => error);
  server.on('request', (_request, response) => response.setHeader(VERSION_HEADER, version));
  serve(server, answerRequests(options, admitOwner, { limits, connections: null, more: routes }), options);
  return { close: closeOnce(server) };
}

/** Node ignores further ones. Clients send twenty or thirty; a thousand, which fit into 8 KB, take a millisecond each time. */
const MAX_HEADERS = 100;

/** `hasToken`: of a request, by its headers. */
function createLimitedServer(limits: HttpLimits, hasToken: (request: IncomingMessage) => boolean): Server {
  /**
   * Ends the parsing of what need not be parsed: Node reads `upgrade` before it emits a request, and parses nothing behind a request that
   * upgrades. Without this, 64 KB of pipelined requests take 25 ms of the event loop, although only the first one is answered, and a body in
   * chunks of one byte takes 17 ms, although nothing reads it. Headers that are ignored may announce such a body.
   */
  class Incoming extends IncomingMessage {
    get upgrade(): boolean {
      if (this.method === 'CONNECT' || this.socket.destroyed) return true;
      const hasMore = this.rawHeaders.length > 2 * MAX_HEADERS;
      return (hasMore || this.headers['transfer-encoding'] !== undefined) && !hasToken(this);
    }

    /** Node sets whether the client asks for another protocol. There is none. */
    set upgrade(_isAsked: boolean | null) {}
  }
  const server = createServer({
    IncomingMessage: Incoming,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    // How often slow clients are looked for. Node's default of 30 s exceeds the limits above.
    connectionsCheckingInterval: Math.min(1_000, limits.headersMs),
    maxHeaderSize: 8_192,
  });
  server.maxHeadersCount = MAX_HEADERS;
  server.on('upgrade', (_request, socket) => {
    // Node no longer handles the errors of this connection.
    socket.on('error', () => {});
    if (!socket.destroyed) socket.write(UNAUTHORIZED);
    // What was written has been sent: a new connection has room for it.
    socket.destroy();
  });
  return server;
}

function serve(server: Server, answer: AnswerRequest, { onError }: LateRoutes): void {
  server.on('error', onError);
  server.on('request', answer);
  // Only a route that takes a body sends 100 Continue.
  server.on('checkContinue', answer);
}

type ListenAddress = { readonly host: string; readonly port: number } | { readonly path: string };

function listen(
  server: Server,
  address: ListenAddress,
  failed: (error: NodeJS.ErrnoException) => Error,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException) => reject(failed(error));
    server.once('error', fail);
    server.listen(address, () => {
      server.off('error', fail);
      resolve();
    });
  });
}

/** The time for answers that are on their way, such as the one to `baton allow`, which can itself be the reason for closing. */
const LAST_ANSWERS_MS = 300;

function closeOnce(server: Server): () => Promise<void> {
  let closing: Promise<void> | null = null;
  server.on('request', (_request, response) =>
    response.once('finish', () => {
      if (closing !== null) setImmediate(() => server.closeIdleConnections());
    }),
  );
  return () => {
    closing ??= new Promise((resolve) => {
      // A client that keeps its connection open must not keep the daemon alive.
      const limit = setTimeout(() => server.closeAllConnections(), LAST_ANSWERS_MS);
      server.close(() => {
        clearTimeout(limit);
        resolve();
      });
    });
    return closing;
  };
}

function cannotListen(error: NodeJS.ErrnoException, host: string, port: number): BatonError {
  const details = { host, port };
  if (error.code === 'EADDRINUSE') {
    const message = `Port ${port} of ${host} is in use, perhaps by another daemon. Choose another with --port or server.port; --port 0 takes any free port.`;
    return new BatonError('port_in_use', message, details, { cause: error });
  }
  const message = `Cannot listen on ${host}, port ${port} (${error.message}). Check server.host and server.port or --port; ports below 1024 need privileges.`;
  return new BatonError('invalid_workflow_config', message, details, { cause: error });
}

function notLoopback(host: string): BatonError {
  const message = `server.host is ${host}, which others on the network can reach. Set server.token (best as $NAME), which every request must then carry, or set server.host to 127.0.0.1 and use an SSH tunnel.`;
  return new BatonError('invalid_workflow_config', message, { host });
}

interface AnswerOptions {
  readonly limits: Pick<HttpLimits, 'responseMs' | 'strangerMs'>;
  /** Of the port. `null`: requests come over the socket, from the daemon's own user. */
  readonly connections: Connections | null;
  more(): Promise<readonly Route[]>;
}

type AnswerRequest = (request: IncomingMessage, response: ServerResponse) => void;

/** Checks access before routing, and cuts off slow clients. A stream may take any time. */
function answerRequests(
  { source, onError }: LateRoutes,
  admit: Admit,
  { limits, connections, more }: AnswerOptions,
): AnswerRequest {
  const admitted = new WeakMap<IncomingMessage, Access>();
  const accessOf = (c: RouteContext) => admitted.get(c.env.incoming as IncomingMessage) ?? 'public';
  const isOwner = connections === null;
  let route: AnswerRequest | null = null;
  const load = async (): Promise<AnswerRequest> => {
    const [{ createListener }, loaded, routes] = await Promise.all([import('./routes.js'), source(), more()]);
    route ??= createListener(loaded, accessOf, { isOwner, more: routes });
    return route;
  };
  const answering = new WeakSet<Socket>();
  return (request, response) => {
    const { socket } = request;
    // Real clients do not pipeline. Hundreds of pipelined requests would all be answered at once.
    if (answering.has(socket)) return void socket.destroy();
    answering.add(socket);
    for (const end of ['finish', 'close']) response.once(end, () => answering.delete(socket));
    const admission = admit(request);
    const isFull = 'access' in admission && admission.access === 'full';
    connections?.requested(socket, isFull);
    limitTime(request, response, isFull ? limits.responseMs : limits.strangerMs);
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    if (hasBody(request)) response.setHeader('connection', 'close');
    if ('access' in admission) {
      admitted.set(request, admission.access);
      if (route !== null) return route(request, response);
      return void load()
        .then((loaded) => socket.destroyed || loaded(request, response))
        .catch((error: unknown) => {
          onError(error);
          socket.destroy();
        });
    }
    if ('redirect' in admission) return void response.writeHead(307, { location: admission.redirect }).end();
    response.statusCode = 403;
    response.setHeader('content-type', JSON_TYPE);
    response.end(`${JSON.stringify(refusal(403, 'forbidden', admission.refused).body)}\n`);
  };
}

/** A reader of the stream is dropped when it does not read, however long it stays. */
function limitTime(request: IncomingMessage, response: ServerResponse, responseMs: number): void {
  const late = setTimeout(() => {
    const isStream = String(response.getHeader('content-type') ?? '').startsWith('text/event-stream');
    if (!isStream) request.socket.destroy();
  }, responseMs);
  response.once('close', () => clearTimeout(late));
}

/** Most bodies are not read, or not to their end: the connection is closed with the answer. */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

const JSON_TYPE = 'application/json; charset=utf-8';

/** The page has its own policy; no other answer is a document. */
const HEADERS: { readonly [name: string]: string } = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

const NEEDS_TOKEN_BODY = `${JSON.stringify(NEEDS_TOKEN.body)}\n`;

/** The whole answer to a request without the token that is not parsed further. */
const UNAUTHORIZED = [
  'HTTP/1.1 401 Unauthorized',
  `content-type: ${JSON_TYPE}`,
  `content-length: ${Buffer.byteLength(NEEDS_TOKEN_BODY)}`,
  'connection: close',
  'www-authenticate: Bearer',
  ...Object.entries(HEADERS).map(([name, value]) => `${name}: ${value}`),
  `\r\n${NEEDS_TOKEN_BODY}`,
].join('\r\n');
