import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface FakeRequest {
  readonly method: string;
  /** Its path and query. */
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: a received body has no type.
  readonly body: any;
}

export type FakeAnswer =
  | {
      readonly status?: number;
      readonly headers?: { readonly [name: string]: string };
      /** Sent as JSON. */
      readonly body?: unknown;
      /** Sent unchanged. */
      readonly raw?: string;
      /** The connection breaks after this many bytes. */
      readonly cutAt?: number;
    }
  | 'hang';

export interface FakeServer {
  readonly url: string;
  /** Every request so far. */
  readonly requests: FakeRequest[];
  /** Called first; `null` leaves the request to the fake. */
  fault: ((request: FakeRequest) => FakeAnswer | null) | null;
}

/** A server on loopback that answers by `answer` until the test ends. */
export async function fakeServer(
  answer: (request: FakeRequest) => FakeAnswer | Promise<FakeAnswer>,
): Promise<FakeServer> {
  const requests: FakeRequest[] = [];
  const fake: { fault: FakeServer['fault'] } = { fault: null };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', async () => {
      const text = Buffer.concat(chunks).toString();
      const url = new URL(request.url ?? '/', 'http://fake');
      const asked = {
        method: request.method ?? '',
        url,
        headers: request.headers,
        body: text === '' ? null : JSON.parse(text),
      };
      requests.push(asked);
      const reply = fake.fault?.(asked) ?? (await answer(asked));
      if (reply === 'hang') return;
      const payload = reply.raw ?? (reply.body === undefined ? '' : JSON.stringify(reply.body));
      response.writeHead(reply.status ?? 200, {
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(payload)),
        ...reply.headers,
      });
      if (reply.cutAt === undefined) response.end(payload);
      else response.write(payload.slice(0, reply.cutAt), () => response.destroy());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return Object.assign(fake, { url: `http://127.0.0.1:${port}`, requests });
}
