import { expect, test } from 'vitest';
import type { ContainedProcess } from '../../../../runner/contain/process.js';
import { createCodexExecutor } from '../../../../runner/executors/codex/codex-executor.js';
import { MAX_LINE_BYTES } from '../../../../runner/executors/read-lines.js';
import { RUNTIME_EVENT_TYPES } from '../../../../src/domain/run-signal.js';
import { issue } from '../../../support/builders.js';
import { agent, failureOf, lastMessage, run, start } from './harness.js';

test('S2-54 SEC-14 SEC-16 SEC-19 garbage, unexpected ids, deep nesting and invalid UTF-8 produce one event each, and the turn completes', async () => {
  const { outcome, events } = await run({ command: agent('noisy') });

  expect(lastMessage(outcome)).toBe('grüße 👋');
  expect(events('malformed').map((event) => event.data?.reason)).toEqual([
    'not valid JSON',
    'not a JSON object',
    'neither a request, a notification nor a reply',
    'neither a request, a notification nor a reply',
    'not valid UTF-8',
    'nested too deep',
    'unexpected method $/cancelRequest',
    'unexpected method $/setTrace',
  ]);
  expect(events('other_message').map((event) => event.data?.ignored)).toEqual([1, 2]);
  expect('polluted' in {}).toBe(false);
});

test('a warning that the agent repeats is reported once per run', async () => {
  const { events } = await run({ command: agent('noisy'), refreshes: [issue(), null] });

  const warnings = events('notification').filter(({ method }) => method === 'warning');
  expect(warnings.map(({ data }) => data?.message)).toEqual(['one', 'two']);
});

test('SEC-16 a late reply is ignored and counted', async () => {
  const started = start({ command: agent('late'), config: { codex: { readTimeoutMs: 5_000 } } });
  await started.event('notification', 'fake/ready');

  started.clock.advance(5_000);
  started.steer('answer now');

  await started.next('event', ({ event }) => event.data?.warning === 'ignored a reply with an unexpected id');
  started.stop('shutdown');
  await started.done;
});

test('S2-56 a line of 10 MB is handled', async () => {
  const { outcome } = await run({ command: agent('long-line', String(MAX_LINE_BYTES)) });

  expect(lastMessage(outcome).length).toBeGreaterThan(MAX_LINE_BYTES - 1_000);
});

test('SEC-14 a line over 10 MB ends the run as line_too_long', async () => {
  const { outcome, events } = await run({ command: agent('long-line', String(MAX_LINE_BYTES + 1)) });

  expect(failureOf(outcome).code).toBe('line_too_long');
  expect(events('turn_ended_with_error')).toHaveLength(1);
});

test('SEC-14 a line without an end costs less memory than twice the maximum', async () => {
  const before = process.memoryUsage.rss();
  let most = 0;
  const started = start({ command: agent('long-line', 'endless') });
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss() - before);
  }, 1);

  const outcome = await started.done;
  clearInterval(watch);

  expect(failureOf(outcome).code).toBe('line_too_long');
  expect(most).toBeLessThan(2 * MAX_LINE_BYTES);
});

test('SEC-18 an agent that closes its stdin fails cleanly', async () => {
  const started = start({ command: agent('deaf'), config: { codex: { turnTimeoutMs: 1e12 } } });
  await started.event('notification', 'item/commandExecution/requestApproval');

  const outcome = await started.doneAsTimePasses();

  expect(failureOf(outcome)).toMatchObject({ code: 'port_exit', message: expect.stringContaining('closed its input') });
});

test('SEC-18 an agent that sends requests without reading the replies is stopped before they fill the memory', async () => {
  const { outcome, events } = await run({
    command: agent('never-listens'),
    config: { codex: { onApprovalRequest: 'accept' } },
  });

  expect(failureOf(outcome)).toMatchObject({ code: 'port_exit', message: 'the agent does not read its input' });
  expect(events('approval_auto_approved').length).toBeLessThan(200);
});

test('SEC-18 agents that flood at full speed delay neither timers nor a quiet agent', async () => {
  const executor = createCodexExecutor({ version: '1' });
  const floods = Array.from({ length: 4 }, () => start({ command: agent('floods'), executor }));
  await Promise.all(floods.map((flood) => flood.event('notification', 'item/agentMessage/delta')));

  const quiet = await run({ command: agent('obedient'), executor });

  expect(quiet.outcome.state).toBe('success');
  for (const flood of floods) flood.stop('budget');
  const outcomes = await Promise.all(floods.map((flood) => flood.done));
  expect(outcomes.map((outcome) => failureOf(outcome).code)).toEqual(Array(4).fill('budget_exceeded'));
});

test('S2-67 heartbeats are never progress', async () => {
  const started = start({ command: agent('hangs', 'on') });
  await started.event('notification', 'fake/ready');
  const progress = () => started.signals.filter((signal) => signal.type === 'progress').length;
  const before = progress();

  // It answers with a notification that is about no turn.
  started.steer('are you there?');
  await started.event('notification', 'fake/steered');

  expect(progress()).toBe(before);
  started.stop('stalled');
  expect(failureOf(await started.done).code).toBe('stall_timeout');
});

test('S2-58 S2-59 every event has a known type, a UTC time and the pid of the agent', async () => {
  let pid: number | null = null;
  const wrap = (process: ContainedProcess) => {
    pid = process.pid;
    return process;
  };
  const { events } = await run({ command: agent('noisy'), wrap });

  expect(events().length).toBeGreaterThan(10);
  for (const event of events()) {
    expect(RUNTIME_EVENT_TYPES).toContain(event.type);
    expect(event.timestamp).toBe('2026-01-01T00:00:00.000Z');
    expect(event.pid).toBe(pid);
  }
});
