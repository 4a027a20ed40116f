import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An address that leads to another one, once. */
export interface OneWay {
  readonly url: string;
  /** Somebody went this way. `false`: nobody did, in that time. */
  taken(limitMs: number): Promise<boolean>;
  close(): void;
}

/**
 * What a program is started with can be read by everybody on the machine, and the token must not be. So the browser is started with an
 * address of this process that nobody can guess, and is sent on from there; whoever comes second finds nothing.
 */
export async function openOneWay(target: string): Promise<OneWay> {
  const path = `/${randomBytes(24).toString('base64url')}`;
  let take = () => {};
  const taken = new Promise<true>((resolve) => {
    take = () => resolve(true);
  });
  let isOpen = true;
  const server = createServer((request, response) => {
    if (!isOpen || request.method !== 'GET' || request.url !== path) return void response.writeHead(404).end();
    isOpen = false;
    response.once('close', take);
    response.writeHead(302, {
      location: target,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      connection: 'close',
    });
    response.end();
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}${path}`,
    async taken(limitMs) {
      let late: NodeJS.Timeout | undefined;
      const never = new Promise<false>((resolve) => {
        late = setTimeout(() => resolve(false), limitMs);
      });
      return Promise.race([taken, never]).finally(() => clearTimeout(late));
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
