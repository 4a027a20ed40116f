import { createServer, type Server } from 'node:http';
import { BatonError } from '../domain/errors.js';
import { admitByToken, admitOwner } from './access.js';
import { type AnswerRequest, answerRequests } from '../status/answer-requests.js';
import { createGuard, isLoopback, withoutBrackets } from '../status/guard.js';
import type { Route } from './route.js';
import type { StatusSource } from './routes.js';

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

export interface SocketOptions {
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
