import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Received {
  readonly method: string;
  readonly headers: IncomingMessage['headers'];
  // biome-ignore lint/suspicious/noExplicitAny: what arrives has no type.
  readonly json: any;
}

export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  /** Settles when so many have come. */
  until(count: number): Promise<void>;
}

type Answer = number | ((response: ServerResponse, request: IncomingMessage) => void);

/** A real server. Each request gets the next answer, the last one for ever after. */
export async function receiver(...answers: Answer[]): Promise<Receiver> {
  const received: Received[] = [];
  const waiting = new Set<() => void>();
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    received.push({ method: request.method ?? '', headers: request.headers, json: JSON.parse(body) });
    const answer = answers[Math.min(received.length, answers.length) - 1] ?? 200;
    if (typeof answer === 'number') response.writeHead(answer).end('answer');
    else answer(response, request);
    for (const look of [...waiting]) look();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook/canary-secret`,
    received,
    until: (count) =>
      new Promise((resolve) => {
        const look = () => {
          if (received.length < count) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
  };
}

/** Says nothing, and keeps the connection. */
export const silent = (): void => {};
