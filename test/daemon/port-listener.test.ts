import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import { listenOnPort } from '../../src/daemon/port-listener.js';
import { BatonError } from '../../src/domain/errors.js';
import { FakeClock } from '../support/fake-clock.js';

async function listenAt(port: number) {
  const server = createServer((socket) => void socket.end('ours'));
  server.listen(port, '127.0.0.1');
  await once(server, 'listening').catch((error: Error) => {
    throw new BatonError('port_in_use', error.message);
  });
  return { port: (server.address() as AddressInfo).port, close: () => closed(server) };
}

const closed = (server: Server) => new Promise<void>((resolve) => void server.close(() => resolve()));

/** A port that another program has. */
async function takenPort({ mayLack }: { readonly mayLack: boolean }) {
  const squatter = await listenAt(0);
  const clock = new FakeClock();
  const logged: string[] = [];
  const log = pino({}, { write: (line) => logged.push(line) });
  const listen = vi.fn(() => listenAt(squatter.port));
  onTestFinished(() => squatter.close());
  return { squatter, clock, logged, listen, options: { clock, log, mayLack, lacking: 'goes on', listen } };
}

test('a daemon that needs the port gets the error', async () => {
  const { options, clock } = await takenPort({ mayLack: false });

  await expect(listenOnPort(options)).rejects.toMatchObject({ code: 'port_in_use' });

  expect(clock.pendingTimers).toBe(0);
});

test('SEC-35 a daemon that may lack the port logs that once and listens as soon as the port is free', async () => {
  const { options, clock, logged, listen, squatter } = await takenPort({ mayLack: true });
  const listener = await listenOnPort(options);
  onTestFinished(() => listener.close());
  clock.advance(60_000);
  await vi.waitFor(() => expect(clock.pendingTimers).toBe(1));
  expect([listener.server, listen.mock.calls.length]).toEqual([null, 2]);

  await squatter.close();
  clock.advance(60_000);
  await vi.waitFor(() => expect(listener.server).not.toBeNull());

  const [answer] = await once(connect(squatter.port, '127.0.0.1'), 'data');
  expect(String(answer)).toBe('ours');
  expect(logged).toEqual([expect.stringMatching(/"level":50.*port_in_use.*"goes on"/)]);
  expect(clock.pendingTimers).toBe(0);
});

test('SEC-35 a daemon that ends tries no more, and closes what an attempt has opened meanwhile', async () => {
  const [idle, trying] = [await takenPort({ mayLack: true }), await takenPort({ mayLack: true })];
  const [first, second] = [await listenOnPort(idle.options), await listenOnPort(trying.options)];
  await trying.squatter.close();
  trying.clock.advance(60_000);

  await Promise.all([first.close(), second.close()]);

  expect(idle.clock.pendingTimers).toBe(0);
  const again = await listenAt(trying.squatter.port);
  await again.close();
});
