import { describe, expect, test } from 'vitest';
import { Turn } from '../../../../runner/executors/codex/turn.js';
import { BatonError } from '../../../../src/domain/errors.js';
import type { RunSignal } from '../../../../src/domain/run-signal.js';
import { issue } from '../../../support/builders.js';
import { Core, stops } from '../../../support/core.js';
import { EPOCH_MS, FakeClock } from '../../../support/fake-clock.js';
import { agent, failureOf, run, start, type TestRun } from './harness.js';

const texts = (received: readonly { readonly method?: string; readonly params?: unknown }[]) =>
  received
    .filter((message) => message.method === 'turn/start')
    .map((message) => (message.params as { input: [{ text: string }] }).input[0].text);

test('S2-47 S2-48 S2-51 continuation turns use the same thread and process, with guidance only', async () => {
  const { outcome, received, events } = await run({
    command: agent('obedient'),
    refreshes: [issue('X-9'), issue('X-9'), null],
  });

  expect(texts(received())).toEqual(['the whole prompt', 'go on with X-9, turn 2', 'go on with X-9, turn 3']);
  expect(received().filter((message) => message.method === 'thread/start')).toHaveLength(1);
  expect(events('session_started').map((event) => event.sessionId)).toEqual([
    'thread-1-turn-1',
    'thread-1-turn-2',
    'thread-1-turn-3',
  ]);
  expect(outcome).toMatchObject({ output: { turns: 3, stop_reason: 'issue_moved', last_message: 'done 3' } });
});

test('S2-49 a run of max_turns turns ends normally', async () => {
  const { outcome, received } = await run({
    command: agent('obedient'),
    refreshes: [issue()],
    config: { agent: { maxTurns: 2 } },
  });

  expect(texts(received())).toHaveLength(2);
  expect(outcome).toMatchObject({ state: 'success', output: { turns: 2, stop_reason: 'max_turns' } });
});

test('S2-50 a failed refresh after a good turn fails the attempt', async () => {
  const { outcome } = await run({
    command: agent('obedient'),
    refreshes: [new BatonError('tracker_request', 'no route')],
  });

  expect(failureOf(outcome)).toMatchObject({ code: 'tracker_request', message: 'no route' });
});

test('S2-61 token counts are absolute totals of the thread, so a repeated notice counts once', async () => {
  const { outcome, signals, events } = await run({ command: agent('obedient'), refreshes: [issue(), null] });

  const usage = signals.flatMap((signal) => (signal.type === 'usage' ? [signal.totals] : []));
  expect(usage).toEqual([
    { input: 100, cached: 10, output: 5 },
    { input: 100, cached: 10, output: 5 },
    { input: 200, cached: 20, output: 10 },
  ]);
  expect(outcome).toMatchObject({ output: { usage: { input: 200, cached: 20, output: 10 } } });
  expect(events('turn_completed').at(-1)?.usage).toEqual({ input: 200, cached: 20, output: 10 });
});

test('SEC-15 impossible token counts are ignored with a warning, and the totals stay finite', async () => {
  const { outcome, signals, events } = await run({ command: agent('counts-badly') });

  expect(signals.filter((signal) => signal.type === 'usage')).toHaveLength(2);
  expect(events('other_message')).toHaveLength(6);
  expect(events('other_message')[0]?.data).toMatchObject({ warning: expect.stringContaining('whole numbers') });
  expect(outcome).toMatchObject({ output: { usage: { input: 80, cached: 8, output: 9 } } });
});

test('S2-57 a failed turn is turn_failed, with the message of the agent', async () => {
  const { outcome, events } = await run({
    command: agent('fails', 'failed', '{"message":"I gave up","codexErrorInfo":"other"}'),
  });

  expect(failureOf(outcome)).toMatchObject({ code: 'turn_failed', message: 'I gave up', retryable: false });
  expect(events('turn_failed')).toMatchObject([{ sessionId: 'thread-1-turn-1', data: { code: 'turn_failed' } }]);
});

test('S2-57 an interrupted turn is turn_cancelled', async () => {
  const { outcome, events } = await run({ command: agent('fails', 'interrupted') });

  expect(failureOf(outcome).code).toBe('turn_cancelled');
  expect(events('turn_cancelled')).toHaveLength(1);
});

test('a used-up quota has its reset time when the agent reported it', async () => {
  const resetsAt = EPOCH_MS / 1_000 + 3_600;

  const { outcome } = await run({
    command: agent(
      'fails',
      'failed',
      '{"message":"limit","codexErrorInfo":"usageLimitExceeded"}',
      `{"primary":{"usedPercent":100,"resetsAt":${resetsAt}}}`,
    ),
  });

  expect(failureOf(outcome)).toMatchObject({ code: 'agent_quota', resetAtMs: EPOCH_MS + 3_600_000 });
});

test('S2-57 a process that exits in the middle of its turn is port_exit, with the end of its stderr, without colours', async () => {
  const { outcome, events, stderr } = await run({ command: agent('dies') });

  expect(failureOf(outcome).code).toBe('port_exit');
  expect(failureOf(outcome).message).toBe('the agent process exited with code 3; end of stderr: out of cheese');
  expect(events('turn_ended_with_error')).toMatchObject([{ data: { code: 'port_exit' } }]);
  expect(stderr).toEqual(['out of cheese']);
});

test('a child that holds stdout does not hide the end of the agent', async () => {
  const started = start({ command: agent('dies', 'orphan') });
  await started.exited();

  started.clock.advance(1_000);

  expect(failureOf(await started.done).code).toBe('port_exit');
});

test('a turn ends only with its turn/completed on its thread, even before the reply to turn/start', async () => {
  const { outcome, events } = await run({ command: agent('confused') });

  expect(outcome).toMatchObject({ state: 'success', output: { turns: 1, last_message: '' } });
  expect(events('turn_completed')).toHaveLength(1);
  expect(events('turn_failed')).toEqual([]);
});

test('S2-66 a turn over turn_timeout_ms is interrupted and reported as a timeout', async () => {
  const started = start({ command: agent('hangs', 'on'), config: { codex: { turnTimeoutMs: 60_000 } } });
  await started.event('notification', 'fake/ready');

  started.clock.advance(59_999);
  expect(started.received().map((message) => message.method)).not.toContain('turn/interrupt');
  started.clock.advance(1);

  const outcome = await started.done;
  expect(outcome.state).toBe('timeout');
  expect(failureOf(outcome).code).toBe('turn_timeout');
  expect(started.received().at(-1)).toMatchObject({
    method: 'turn/interrupt',
    params: { threadId: 'thread-1', turnId: 'turn-1' },
  });
  expect(started.events('turn_ended_with_error')).toHaveLength(1);
});

test('time that the machine slept does not count towards the turn timeout', async () => {
  const started = start({ command: agent('hangs', 'on'), config: { codex: { turnTimeoutMs: 60_000 } } });
  await started.event('notification', 'fake/ready');

  started.clock.sleep(3_600_000);
  started.clock.advance(59_000);
  started.stop('operator');

  expect(failureOf(await started.done).code).toBe('STOPPED_BY_OPERATOR');
});

test('the turn timeout is paused while a person is asked', async () => {
  const started = start({
    command: agent('asks', 'item/commandExecution/requestApproval', '{"command":"ls"}'),
    config: { codex: { turnTimeoutMs: 60_000, onApprovalRequest: 'ask' } },
  });
  const { question } = await started.next('asked');

  started.clock.advance(600_000);
  started.answer(question.id, { kind: 'accept' });

  expect((await started.done).state).toBe('success');
});

test('a message of a person steers the active turn', async () => {
  const started = start({ command: agent('hangs', 'on') });
  await started.event('notification', 'fake/ready');

  started.steer('look at the tests first');
  await started.event('notification', 'fake/steered');
  started.stop('shutdown');
  await started.done;

  expect(started.received()).toContainEqual(
    expect.objectContaining({
      method: 'turn/steer',
      params: expect.objectContaining({
        threadId: 'thread-1',
        expectedTurnId: 'turn-1',
        input: [{ type: 'text', text: 'look at the tests first', text_elements: [] }],
      }),
    }),
  );
});

test('a message that cannot steer the turn waits for the next one, and turn/start is never sent into an active turn', async () => {
  const started = start({ command: agent('refuses-steer'), refreshes: [issue(), null] });
  await started.next('session');

  started.steer('and mind the gap');
  await started.done;

  const second = texts(started.received())[1];
  expect(second).toBe('go on with AB-1, turn 2\n\nA message from a person:\nand mind the gap');
});

const LIMITS = { silenceMs: 1_000, totalMs: 5_000 };

const ended = (id: string) => ({ id, status: 'completed', error: null });

test('the late end of an earlier turn does not end the running one', async () => {
  const turn = new Turn(new FakeClock(), LIMITS);
  turn.begin('turn-2');

  turn.end(ended('turn-1'));

  expect(turn.activeId).toBe('turn-2');
  turn.end(ended('turn-2'));
  expect(turn.activeId).toBeNull();
  await expect(turn.finished).resolves.toEqual(ended('turn-2'));
});

test('only the first end of a turn counts, and its timer is cancelled', async () => {
  const clock = new FakeClock();
  const turn = new Turn(clock, LIMITS);
  turn.begin('turn-1');

  turn.end(ended('turn-1'));
  turn.abandon(new Error('too late'));

  expect(clock.pendingTimers).toBe(0);
  await expect(turn.finished).resolves.toEqual(ended('turn-1'));
});

test('S2-66 time spent asking a person does not count towards the turn timeout', async () => {
  const clock = new FakeClock();
  const turn = new Turn(clock, LIMITS);
  clock.advance(600);
  turn.pauseClock();
  clock.advance(10_000);
  turn.resumeClock();

  clock.advance(399);
  expect(clock.pendingTimers).toBe(1);
  clock.advance(1);

  await expect(turn.finished).rejects.toMatchObject({ code: 'turn_timeout' });
});

test('S2-66 every output restarts the silence that turn_timeout_ms bounds', async () => {
  const clock = new FakeClock();
  const turn = new Turn(clock, LIMITS);
  turn.begin('turn-1');

  for (let n = 0; n < 4; n += 1) {
    clock.advance(900);
    turn.outputReceived();
  }
  expect(turn.activeId).toBe('turn-1');
  clock.advance(1_000);

  await expect(turn.finished).rejects.toMatchObject({
    code: 'turn_timeout',
    message: expect.stringContaining('codex.turn_timeout_ms'),
  });
});

test('SEC-18 an agent that never falls silent is ended by max_turn_ms', async () => {
  const clock = new FakeClock();
  const turn = new Turn(clock, LIMITS);
  turn.begin('turn-1');

  for (let n = 0; n < 49; n += 1) {
    clock.advance(100);
    turn.outputReceived();
  }
  expect(turn.activeId).toBe('turn-1');
  clock.advance(100);

  await expect(turn.finished).rejects.toMatchObject({
    code: 'turn_timeout',
    message: expect.stringContaining('codex.max_turn_ms'),
  });
  expect(clock.pendingTimers).toBe(0);
});

describe('the time limits of a turn, with a real agent', () => {
  const hanging = (maxTurnMs: number) =>
    start({ command: agent('hangs', 'on'), config: { codex: { turnTimeoutMs: 60_000, maxTurnMs } } });

  /** Lets time pass, then makes the agent send something, which it does only while its turn is open. */
  async function sendAfter(ms: number, started: TestRun): Promise<void> {
    const steered = () => started.events('notification').filter(({ method }) => method === 'fake/steered').length;
    const before = steered();
    started.clock.advance(ms);
    started.steer('are you there?');
    await expect.poll(steered).toBe(before + 1);
  }

  test('S2-66 turn_timeout_ms begins anew with each message of the agent', async () => {
    const started = hanging(1_000_000);
    await started.event('notification', 'fake/ready');
    for (let n = 0; n < 3; n += 1) await sendAfter(59_999, started);

    started.clock.advance(60_000);

    const message = expect.stringContaining('codex.turn_timeout_ms');
    expect(failureOf(await started.done)).toMatchObject({ code: 'turn_timeout', message });
  });

  test('S2-66 turn_timeout_ms begins anew with each output on stderr', async () => {
    const command = `while sleep 0.01; do echo working >&2; done & exec ${agent('hangs', 'on')}`;
    const started = start({ command, config: { codex: { turnTimeoutMs: 60_000 } } });
    await started.event('notification', 'fake/ready');
    started.clock.advance(59_999);
    const lines = started.stderr.length;
    await expect.poll(() => started.stderr.length).toBeGreaterThan(lines + 1);

    await sendAfter(59_999, started);
    started.stop('operator');

    expect(failureOf(await started.done).code).toBe('STOPPED_BY_OPERATOR');
  });

  test('S2-66 max_turn_ms ends a turn, whatever the agent sends', async () => {
    const started = hanging(100_000);
    await started.event('notification', 'fake/ready');
    await sendAfter(59_999, started);
    await sendAfter(40_000, started);

    started.clock.advance(1);

    const message = expect.stringContaining('codex.max_turn_ms');
    expect(failureOf(await started.done)).toMatchObject({ code: 'turn_timeout', message });
  });
});

type CoreSignal = Exclude<RunSignal, { type: 'event' }>;

/** Runs a real agent with an open item and feeds the signals of its run to the core. */
async function runWith(item: { readonly type: string; readonly [key: string]: unknown }) {
  const notices = [['item/started', { item: { id: 'i', ...item } }]];
  const started = start({ command: agent('hangs', 'on', JSON.stringify(notices)) });
  await started.event('notification', 'fake/ready');
  const core = new Core().put('A');
  core.poll();
  core.signal('A', { type: 'phase', phase: 'agent' });
  for (const signal of started.signals) if (signal.type !== 'event') core.signal('A', signal as CoreSignal);
  started.stop('shutdown');
  await started.done;
  return core;
}

test('a long silent reasoning is not stopped as stalled', async () => {
  const core = await runWith({ type: 'reasoning' });

  expect(stops(core.advance(3_000_000))).toEqual([]);
});

test('a long build is not stopped as stalled', async () => {
  const core = await runWith({ type: 'commandExecution', command: 'make world' });

  expect(stops(core.advance(3_000_000))).toEqual([]);
});

test('an agent that falls silent while writing a message is stopped as stalled', async () => {
  const core = await runWith({ type: 'agentMessage' });

  expect(stops(core.advance(300_000))).toEqual(['stalled']);
});
