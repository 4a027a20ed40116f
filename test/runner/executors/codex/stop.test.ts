import { expect, test } from 'vitest';
import type { StopResult } from '../../../../runner/contain/process.js';
import type { Issue } from '../../../../src/domain/issue.js';
import { issue } from '../../../support/builders.js';
import { agent, failureOf, run, start } from './harness.js';

test.each([
  ['terminal', 'CANCELLED_BY_ORCHESTRATOR'],
  ['gone', 'CANCELLED_BY_ORCHESTRATOR'],
  ['shutdown', 'INTERRUPTED'],
  ['operator', 'STOPPED_BY_OPERATOR'],
  ['budget', 'budget_exceeded'],
  ['stalled', 'stall_timeout'],
] as const)('a run stopped for %s interrupts its turn, ends its process and is %s', async (reason, code) => {
  const started = start({ command: agent('hangs', 'on') });
  await started.event('notification', 'fake/ready');

  started.stop(reason);

  const outcome = await started.done;
  expect(outcome.state).toBe('cancelled');
  expect(failureOf(outcome).code).toBe(code);
  expect(started.received().at(-1)?.method).toBe('turn/interrupt');
  expect(started.events('turn_cancelled')).toMatchObject([{ data: { code } }]);
  await started.exited();
});

test('an agent that ignores turn/interrupt is stopped anyway', async () => {
  const started = start({ command: agent('hangs', 'deaf') });
  await started.event('notification', 'fake/ready');

  started.stop('terminal');
  await started.event('notification', 'fake/interrupted');
  started.clock.advance(500);

  expect((await started.done).state).toBe('cancelled');
  await started.exited();
});

test('a stop during the handshake ends at once, without startup_failed', async () => {
  const started = start({ command: agent('silent', 'thread/start') });
  await started.event('notification', 'fake/ready');

  started.stop('shutdown');

  expect(failureOf(await started.done).code).toBe('INTERRUPTED');
  expect(started.events('startup_failed')).toEqual([]);
  await started.exited();
});

test('a run stopped between two turns starts no other turn and leaves no timer', async () => {
  let answer: (read: Issue) => void = () => {};
  const read = new Promise<Issue>((resolve) => {
    answer = resolve;
  });
  const started = start({ command: agent('obedient'), refreshes: [read] });
  await started.event('turn_completed');

  started.stop('operator');
  await started.done;
  answer(issue());
  await new Promise(setImmediate);

  expect(started.clock.pendingTimers).toBe(0);
});

test('a run stopped before it began starts no process', async () => {
  const started = start({
    command: agent('obedient'),
    wrap: () => {
      throw new Error('launched');
    },
  });

  started.stop('operator');

  expect(failureOf(await started.done).code).toBe('STOPPED_BY_OPERATOR');
});

const RECONNECTING = [
  'error',
  { willRetry: true, error: { message: 'Reconnecting… 1/5', codexErrorInfo: { responseStreamDisconnected: {} } } },
];

test.each([
  ['reconnecting since its last progress', [['item/started', {}], RECONNECTING], 'agent_unreachable'],
  ['with progress since it reconnected', [RECONNECTING, ['item/started', {}]], 'stall_timeout'],
] as const)('a stalled agent %s gets its own code', async (_, notices, code) => {
  const started = start({ command: agent('hangs', 'on', JSON.stringify(notices)) });
  await started.event('notification', 'fake/ready');

  started.stop('stalled');

  expect(failureOf(await started.done).code).toBe(code);
});

test('a broken model stream closes open reasoning, and the core is informed once', async () => {
  const notices = [
    ['item/started', { item: { id: 'r', type: 'reasoning' } }],
    RECONNECTING,
    RECONNECTING,
    ['fake/heartbeat', { turnId: null }],
  ];
  const started = start({ command: agent('hangs', 'on', JSON.stringify(notices)) });
  await started.event('notification', 'fake/heartbeat');

  const open = started.signals.flatMap((signal) => (signal.type === 'progress' ? [signal.openItems] : []));

  expect(open.slice(-2)).toEqual([1, 0]);
  started.stop('shutdown');
  await started.done;
});

test('a tree that outlives SIGKILL is reported at once, and the outcome comes only when it is gone', async () => {
  const order: string[] = [];
  let gone = () => {};
  const whenGone = new Promise<void>((resolve) => {
    gone = () => {
      order.push('gone');
      resolve();
    };
  });
  let report: (survivors: readonly number[]) => void = () => {};
  const reported = new Promise<readonly number[]>((resolve) => {
    report = resolve;
  });
  const started = start({
    command: agent('obedient'),
    wrap: (launched) => {
      const stop = async (): Promise<StopResult> => {
        await launched.stop();
        report([17, 18]);
        await whenGone;
        return { gone: false, survivors: [17, 18], whenGone };
      };
      return { ...launched, stop };
    },
  });
  void started.done.then(() => order.push('done'));

  const survivors = await reported;
  setImmediate(gone);

  expect(failureOf(await started.done)).toMatchObject({
    code: 'unkillable',
    message: expect.stringContaining('17, 18'),
  });
  expect(survivors).toEqual([17, 18]);
  expect(order).toEqual(['gone', 'done']);
});

test('S2-55 stderr is reported line by line and never parsed', async () => {
  const { outcome, stderr, events } = await run({ command: agent('noisy') });

  expect(outcome.state).toBe('success');
  expect(stderr).toEqual(['{"method":"turn/completed"}']);
  expect(events('turn_completed')).toHaveLength(1);
});
