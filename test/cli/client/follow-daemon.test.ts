import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ApiError } from '../../../src/cli/client.js';
import { type FollowEvent, followDaemon } from '../../../src/cli/follow-daemon.js';
import { world } from '../cli-fixture.js';
import { answering } from './scripted-socket.js';

const TARGET = { stateDir: 's' };

/** Follows until it has received this many events. */
async function heard(here: ReturnType<typeof world>, count: number): Promise<FollowEvent[]> {
  const controller = new AbortController();
  const found: FollowEvent[] = [];
  for await (const one of followDaemon(TARGET, '/e', here, controller.signal, 1)) {
    found.push(one);
    if (found.length === count) controller.abort();
  }
  return found;
}

test('a stream that ends is resumed with the id of the last event', async () => {
  const here = world();
  const asked: unknown[] = [];
  await answering(join(here.dir, 's'), ({ headers }, response) => {
    asked.push(headers['last-event-id']);
    response.writeHead(200).end(`id: ${asked.length}\ndata: ${asked.length}\n\n`);
  });

  const found = await heard(here, 5);

  expect(found.map((one) => ('event' in one ? one.event.data : 'gone'))).toEqual([1, 'gone', 2, 'gone', 3]);
  expect(asked).toEqual([undefined, '1', '2']);
});

test('a missing daemon is reported once, and the client waits for it', async () => {
  const here = world();
  const controller = new AbortController();
  const stream = followDaemon(TARGET, '/e', here, controller.signal, 1);

  const first = await stream.next();
  const second = stream.next();
  await answering(join(here.dir, 's'), (_, response) => response.writeHead(200).write('data: 1\n\n'));

  expect(first.value).toMatchObject({ gone: expect.stringContaining('no daemon is running with the state directory') });
  expect((await second).value).toMatchObject({ event: { data: 1 } });
  controller.abort();
  expect((await stream.next()).done).toBe(true);
});

test.each([
  [503, '{"error":{"code":"too_many_streams","message":"close some"}}', 'too_many_streams'],
  [200, 'data: {\n\n', 'bad_answer'],
])('an error response (%i) is thrown and not retried', async (status, body, code) => {
  const here = world();
  await answering(join(here.dir, 's'), (_, response) => response.writeHead(status).end(body));

  const failure = await heard(here, 99).catch((error: unknown) => error);

  expect(failure).toBeInstanceOf(ApiError);
  expect(failure).toMatchObject({ code });
});

test('an aborted client ends at once in every state', async () => {
  const here = world();
  const before = new AbortController();
  before.abort();
  const during = new AbortController();
  await answering(join(here.dir, 's'), () => setImmediate(() => during.abort()));

  expect((await followDaemon(TARGET, '/e', here, before.signal).next()).done).toBe(true);
  expect((await followDaemon(TARGET, '/e', here, during.signal).next()).done).toBe(true);
  const absent = new AbortController();
  const waiting = followDaemon({ stateDir: 'none' }, '/e', here, absent.signal, 3_600_000);
  await waiting.next();
  const end = waiting.next();
  absent.abort();
  expect((await end).done).toBe(true);
});
