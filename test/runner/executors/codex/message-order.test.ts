import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import type { ContainedProcess } from '../../../../runner/contain/process.js';
import { AppServerClient } from '../../../../runner/executors/codex/app-server-client.js';
import { FairScheduler } from '../../../../runner/executors/read-lines.js';
import { FakeClock } from '../../../support/fake-clock.js';

/** A client of an agent whose output is written by the test. `seen` has what happened, in order. */
function connect(scheduler = new FairScheduler()) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const seen: string[] = [];
  const waiting = new Map<string, () => void>();
  const process = { pid: 1, stdin, stdout, stderr, exited: new Promise(() => {}) } as unknown as ContainedProcess;
  const client = new AppServerClient({
    ...{ process, scheduler, clock: new FakeClock(), readTimeoutMs: 1_000, stderrTail: () => '' },
    handlers: {
      output: () => void seen.push('output'),
      malformed: () => void seen.push('malformed'),
      unexpectedId: () => void seen.push('unexpected id'),
      notification: (method) => {
        seen.push(method);
        waiting.get(method)?.();
      },
      request: async (method) => {
        seen.push(method);
        return {};
      },
    },
  });
  const when = (method: string) => new Promise<void>((resolve) => waiting.set(method, resolve));
  const write = (...messages: readonly (object | string)[]) =>
    stdout.write(messages.map((one) => `${typeof one === 'string' ? one : JSON.stringify(one)}\n`).join(''));
  return { client, seen, when, write };
}

const notice = (method: string) => ({ method, params: {} });
const delta = notice('item/agentMessage/delta');

test('messages of one chunk are handled in order, and code that waits for one goes on before the next one is handled', async () => {
  const { client, seen, when, write } = connect();
  void when('turn/completed')
    .then(() => {})
    .then(() => seen.push('code that waited for the end of the turn'));
  void client
    .request('turn/start', {})
    .then(() => {})
    .then(() => seen.push('code that waited for the reply'));

  const last = when('last');
  write(
    ...[notice('turn/started'), delta, { id: 0, result: {} }, delta, { id: 7, method: 'item/tool/call', params: {} }],
    ...[delta, 'garbage', delta, delta, notice('turn/completed'), { id: 7_000, result: {} }, delta, notice('last')],
  );
  await last;

  const piece = 'item/agentMessage/delta';
  expect(seen).toEqual([
    ...['output', 'turn/started', piece, 'code that waited for the reply', piece, 'item/tool/call'],
    ...[piece, 'malformed', piece, piece, 'turn/completed', 'code that waited for the end of the turn'],
    ...['unexpected id', piece, 'last'],
  ]);
});

test('the messages of a chunk do not keep other agents from theirs', async () => {
  const scheduler = new FairScheduler();
  const [busy, quiet] = [connect(scheduler), connect(scheduler)];
  const ended = busy.when('last');
  const first = quiet.when('item/started');

  busy.write(...Array.from({ length: 1_000 }, () => notice('item/started')), notice('last'));
  quiet.write(notice('item/started'));
  await first;

  expect(busy.seen.length).toBeLessThan(100);
  await ended;
  expect(busy.seen).toHaveLength(1_002);
});

test('nothing is handled after the client was disposed of, in the middle of a chunk', async () => {
  const { client, seen, when, write } = connect();
  const first = when('first').then(() => client.dispose());

  write(notice('first'), delta, notice('second'));
  await first;
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

  expect(seen).toEqual(['output', 'first']);
});
