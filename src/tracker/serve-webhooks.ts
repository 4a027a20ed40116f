import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { BoundedMap } from '../domain/bounded-map.js';
import { BatonError } from '../domain/errors.js';
import type { VerifyWebhook } from './verify-webhook.js';

export interface WebhookOptions {
  /** The kind of the tracker. Only `POST /webhooks/<kind>` is served. */
  readonly kind: string;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly secret: string;
  readonly verify: VerifyWebhook;
  readonly nowMs: () => number;
  /** The timeout of a request; its headers have half of it. */
  readonly requestTimeoutMs?: number;
  /** Something has changed in the tracker. */
  onValid(): void;
  onRefused(reason: string): void;
}

export interface WebhookServer {
  readonly url: string;
  close(): Promise<void>;
}

/** With the number of connections this bounds the memory that strangers can use before a signature is checked. */
const MAX_BODY_BYTES = 2 * 1024 * 1024;
const MAX_CONNECTIONS = 25;
/** A delivery that is forgotten and repeated costs one poll too many. */
const MAX_DELIVERIES = 10_000;
const REQUEST_TIMEOUT_MS = 10_000;

/**
 * Listens for webhooks on a separate port, without page and API, because that port is open to the internet. A body with a good signature only asks for an early poll.
 * Throws `BatonError` when it cannot listen.
 */
export async function serveWebhooks(options: WebhookOptions): Promise<WebhookServer> {
  const seen = new BoundedMap<string, true>(MAX_DELIVERIES);
  const { requestTimeoutMs = REQUEST_TIMEOUT_MS } = options;
  const server = createServer({
    headersTimeout: requestTimeoutMs / 2,
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: requestTimeoutMs / 10,
    maxHeaderSize: 8_192,
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    void receive(request, options, seen).then(
      ([status, text]) => answer(response, status, text),
      // The sender disconnected or was too slow: nothing can be answered.
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException) => reject(cannotListen(error, options));
    server.once('error', fail);
    server.listen({ host: options.host, port: options.port }, () => {
      server.off('error', fail);
      server.on('error', (error) => options.onRefused(`the listener failed: ${error.message}`));
      resolve();
    });
  });
  const bound = server.address();
  const port = bound !== null && typeof bound === 'object' ? bound.port : options.port;
  const host = isIP(options.host) === 6 ? `[${options.host}]` : options.host;
  return {
    url: `http://${host}:${port}/webhooks/${options.kind}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function receive(
  request: IncomingMessage,
  options: WebhookOptions,
  seen: BoundedMap<string, true>,
): Promise<[number, string]> {
  const [path] = (request.url ?? '').split('?');
  if (path !== `/webhooks/${options.kind}`) return [404, 'not_found'];
  if (request.method !== 'POST') return [405, 'method_not_allowed'];
  const body = await readBody(request);
  if (body === null) return refuse(413, 'it is too large', options);
  const { secret, verify, nowMs } = options;
  const verdict = verify({ headers: request.headers, body, secret, nowMs: nowMs() });
  if (!verdict.ok) return refuse(verdict.status, verdict.reason, options);
  if (seen.has(verdict.delivery)) return refuse(409, 'it was received before', options);
  seen.set(verdict.delivery, true);
  options.onValid();
  // Linear repeats a webhook that is not answered with 200, and switches it off in the end.
  return [200, 'accepted'];
}

function refuse(status: number, reason: string, { onRefused }: WebhookOptions): [number, string] {
  onRefused(reason);
  return [status, reason];
}

async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  if (Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES) return null;
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    length += (chunk as Buffer).length;
    if (length > MAX_BODY_BYTES) return null;
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks, length);
}

function answer(response: ServerResponse, status: number, text: string): void {
  const body = `${JSON.stringify(status < 300 ? { [text]: true } : { error: { message: text } })}\n`;
  const allow = status === 405 ? { allow: 'POST' } : {};
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close', ...allow }).end(body);
}

function cannotListen(error: NodeJS.ErrnoException, { host, port }: WebhookOptions): BatonError {
  const details = { host, port };
  if (error.code === 'EADDRINUSE') {
    const message = `Port ${port} of ${host} is taken: webhooks cannot be received there. Give another with webhooks.port.`;
    return new BatonError('port_in_use', message, details, { cause: error });
  }
  const message = `Cannot listen for webhooks on ${host}, port ${port} (${error.message}). Check webhooks.host and webhooks.port; ports below 1024 need rights.`;
  return new BatonError('invalid_workflow_config', message, details, { cause: error });
}
