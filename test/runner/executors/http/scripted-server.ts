import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { Json } from '../../../../src/domain/json.js';

/** A request as it came over the wire. */
export interface Heard {
  readonly method: string;
  /** As written in the request line. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  /** `undefined`: it had no body. */
  readonly body: { readonly [key: string]: Json } | undefined;
}

export interface Reply {
  readonly status?: number;
  readonly json?: unknown;
  readonly text?: string | Buffer;
  readonly headers?: { readonly [name: string]: string };
}

/** Responses of a service. `null`: the test responds itself. */
export type Script = (heard: Heard, response: ServerResponse, index: number) => Reply | null;

export interface ScriptedServer {
  readonly url: string;
  readonly requests: readonly Heard[];
  /** `POST /v1/…`, one for each request. */
  lines(): string[];
  /** Settles once so many requests have come. */
  heard(count: number): Promise<void>;
  /** Settles once no connection is open. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

/** A real HTTP server on a free port of loopback. */
export async function scriptedServer(script: Script): Promise<ScriptedServer> {
  const requests: Heard[] = [];
  const sockets = new Set<Socket>();
  const watchers = new Set<() => void>();
  const changed = () => {
    for (const watcher of [...watchers]) watcher();
  };
  const until = (holds: () => boolean) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (!holds()) return;
        watchers.delete(look);
        resolve();
      };
      watchers.add(look);
      look();
    });

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString('utf8');
    const heard: Heard = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      rawHeaders: request.rawHeaders,
      body: text === '' ? undefined : JSON.parse(text),
    };
    requests.push(heard);
    const reply = script(heard, response, requests.length - 1);
    changed();
    if (reply !== null) send(response, reply);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => {
      sockets.delete(socket);
      changed();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const close = async () => {
    server.closeAllConnections();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  onTestFinished(close);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    lines: () => requests.map(({ method, path }) => `${method} ${path}`),
    heard: (count) => until(() => requests.length >= count),
    idle: () => until(() => sockets.size === 0),
    close,
  };
}

function send(response: ServerResponse, { status = 200, json, text, headers = {} }: Reply): void {
  const body = text ?? (json === undefined ? '' : JSON.stringify(json));
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
}
