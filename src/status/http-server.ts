import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { BatonError } from '../domain/errors.js';
import { createGuard, type Guard, isLoopback, withoutBrackets } from './guard.js';
import { refusal } from './route.js';
import { createRoutes, type StatusSource } from './routes.js';

export interface HttpOptions extends StatusSource {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  readonly allowedHosts: readonly string[];
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

export interface HttpServer {
  /** Where it really listens, for people: `http://127.0.0.1:4711`. */
  readonly url: string;
  readonly port: number;
  /** Answers in flight are cut off. */
  close(): Promise<void>;
}

const LIMITS: HttpLimits = {
  headersMs: 5_000,
  requestMs: 10_000,
  responseMs: 30_000,
  keepAliveMs: 5_000,
  connections: 100,
};

/** Serves state to whoever is on this machine. Throws `BatonError` when it cannot. */
export async function startHttp(options: HttpOptions): Promise<HttpServer> {
  const host = withoutBrackets(options.host.trim());
  if (!isLoopback(host)) throw notLoopback(options.host);
  const limits = { ...LIMITS, ...options.limits };
  const server = createLimitedServer(limits);
  const address = await listen(server, host, options.port);
  server.on('error', (error) => options.onError(error));
  let closing: Promise<void> | null = null;
  const close = () => {
    closing ??= closeNow(server);
    return closing;
  };
  if (!isLoopback(address.address)) {
    await close();
    throw notLoopback(`${options.host} (${address.address})`);
  }
  const answer = createAnswer(options, createGuard(host, address.port, options.allowedHosts), limits);
  server.on('request', answer);
  // Who waits to be asked for its body is asked by the route that takes one, and by no other.
  server.on('checkContinue', answer);
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return { url: `http://${name}:${address.port}`, port: address.port, close };
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

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

function createAnswer(source: StatusSource, guard: Guard, limits: HttpLimits): Answer {
  const route = getRequestListener(createRoutes(source).fetch, {
    // The daemon talks to trackers with Node's own Request and Response.
    overrideGlobalObjects: false,
    autoCleanupIncoming: false,
    errorHandler: () =>
      new Response(`${JSON.stringify(BAD_REQUEST.body)}\n`, { status: 400, headers: { 'content-type': JSON_TYPE } }),
  });
  return (request, response) => {
    const late = setTimeout(() => request.socket.destroy(), limits.responseMs);
    response.once('close', () => clearTimeout(late));
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    if (hasBody(request)) response.setHeader('connection', 'close');
    const reason = guard.refuse(request);
    if (reason === null) return void route(request, response);
    response.statusCode = 403;
    response.setHeader('content-type', JSON_TYPE);
    response.end(`${JSON.stringify(refusal(403, 'forbidden', reason).body)}\n`);
  };
}

/** Most are not read, and none is read for longer than it may be: the connection ends with the answer. */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

const JSON_TYPE = 'application/json; charset=utf-8';
const BAD_REQUEST = refusal(400, 'bad_request', 'This is no request.');

const HEADERS: { readonly [name: string]: string } = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

interface Bound {
  readonly address: string;
  readonly family: string;
  readonly port: number;
}

function listen(server: Server, host: string, port: number): Promise<Bound> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException) => reject(cannotListen(error, host, port));
    server.once('error', fail);
    server.listen({ host, port }, () => {
      server.off('error', fail);
      const bound = server.address();
      if (bound === null || typeof bound === 'string') reject(cannotListen(new Error('no address'), host, port));
      else resolve(bound);
    });
  });
}

function closeNow(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    // Otherwise a client that keeps its connection open would keep the daemon alive.
    server.closeAllConnections();
  });
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
  const message = `server.host is ${host}, which others on the network can reach, and whoever reaches it can read everything. Set it to 127.0.0.1, and use an SSH tunnel or a proxy with a login to look from elsewhere.`;
  return new BatonError('invalid_workflow_config', message, { host });
}
