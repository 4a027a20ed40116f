import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface FakeRequest {
  readonly method: string;
  /** Its path and query. */
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: what arrives has no type.
  readonly body: any;
}

export type FakeAnswer =
  | {
      readonly status?: number;
      readonly headers?: { readonly [name: string]: string };
      /** Sent as JSON. */
      readonly body?: unknown;
      /** Sent as it is. */
      readonly raw?: string;
      /** Breaks off after so many bytes, though more were promised. */
      readonly cutAt?: number;
    }
  | 'hang';

export interface FakeServer {
  readonly url: string;
  /** Every request so far. */
  readonly requests: FakeRequest[];
  /** Asked first; `null` leaves the request to the fake. */
  fault: ((request: FakeRequest) => FakeAnswer | null) | null;
}

/** A server on loopback that answers as `answer` says, until the test is over. */
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
      const told = fake.fault?.(asked) ?? (await answer(asked));
      if (told === 'hang') return;
      const payload = told.raw ?? (told.body === undefined ? '' : JSON.stringify(told.body));
      response.writeHead(told.status ?? 200, {
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(payload)),
        ...told.headers,
      });
      if (told.cutAt === undefined) response.end(payload);
      else response.write(payload.slice(0, told.cutAt), () => response.destroy());
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
