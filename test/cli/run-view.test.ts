import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { formatSummary, RunPrinter } from '../../src/cli/run-view.js';
import { failure, success } from '../../src/domain/outcome.js';
import { createRedactor } from '../../src/logging/redact.js';
import { issue } from '../support/builders.js';
import { Core, starts } from '../support/core.js';

function once(core: Core, only: string | null = null): Core {
  core.send({ type: 'started', leftovers: [], once: { only } });
  return core;
}

const one = { agent: { maxConcurrentAgents: 1 } } as const;

test('an interrupted run has failed, and an issue without a run was not started', () => {
  const core = once(new Core(one).put('A', 'B'));
  core.answerPoll();
  core.send({ type: 'shutdown_requested' });
  core.send({ type: 'shutdown_requested' });

  expect(formatSummary(core.state, core.now)).toBe(
    [
      '1 run, 1 failed.',
      '  ✗ A  INTERRUPTED: the daemon left before its end',
      '  – B  not started: no free slot: agent.max_concurrent_agents is 1',
      '',
    ].join('\n'),
  );
});

test('the reason for an issue without a run is the signal', () => {
  const core = once(new Core(one).put('A', 'B'));
  core.answerPoll();
  core.send({ type: 'shutdown_requested' });
  core.exit('A', failure('INTERRUPTED', 'the daemon shuts down', { state: 'cancelled' }));

  expect(formatSummary(core.state, core.now)).toContain('  – B  not started: Baton was stopped before its turn\n');
});

test('a spent quota is reported once for all issues that wait for it', () => {
  const core = once(new Core().put('A'));
  core.rateLimit = { remaining: 0, resetAtMs: core.now.wallMs + 3_600_000 };
  core.answerPoll();

  expect(formatSummary(core.state, core.now)).toMatch(
    /^Nothing was started\.\nReason: the tracker limits our requests until .*\n {2}– A {2}not started: see above\n$/,
  );
});

test('a run whose after_run failed is not shown as done', () => {
  const written: string[] = [];
  const out = new Writable({ write: (chunk, _encoding, done) => done(void written.push(String(chunk))) });
  const printer = new RunPrinter(out, createRedactor());
  const core = once(new Core().put('A'));
  core.answerPoll();
  const [order] = starts(core.effects);
  if (!order) throw new Error('no run');
  const report = { runId: order.runId, issueId: 'A', identifier: 'A', durationMs: 1, stdout: '', stderr: '' };
  const hook = {
    ...report,
    hook: 'after_run',
    outcome: 'failed',
    message: 'git was refused',
    truncated: false,
  } as const;

  printer.runBegan(order);
  printer.hookEnded(hook);
  printer.runEnded(order.runId, success(null));
  core.exit('A');
  const summary = formatSummary(core.state, core.now, printer.unpushed);
  printer.hookEnded({ ...hook, outcome: 'ok', message: null });

  expect(written.at(-1)).toMatch(/^A +✗ finished.*, but after_run failed, so its work may not be pushed\n$/);
  expect(summary).toBe('1 run, no failures, 1 not pushed.\n  ✗ A  after_run failed, so its work may not be pushed\n');
  expect(formatSummary(core.state, core.now, printer.unpushed)).toBe('1 run, no failures.\n  ✓ A\n');
});

test('a run whose push waits for an answer is not shown as done', () => {
  const core = once(new Core().put('A'));
  core.answerPoll();
  core.signal('A', { type: 'asked', question: { id: 'q', kind: 'approval', text: '', fields: [], heldPush: 'd' } });
  core.advance(core.state.config.agent.inputTimeoutMs);
  core.exit('A');

  expect(formatSummary(core.state, core.now)).toContain(
    '1 run, no failures, 1 not pushed.\n  ✗ A  its push waits for an answer: `baton answer A`\n',
  );
});

test('an issue that cannot be read is reported as such, also when it was named', () => {
  const core = new Core().put('A');
  core.poll();
  core.fail('A');
  core.unknown.add('A');
  once(core, 'A');
  core.poll();
  core.answerReads();
  core.answerPoll();

  expect(formatSummary(core.state, core.now)).toBe(
    'A was not started.\n  – A  not started: the tracker could not report its state\n',
  );
});

/** The rows of a terminal of 80 columns. */
function rowsOf(text: string): string[] {
  return text.split('\n').flatMap((line) => line.match(/.{1,80}/gu) ?? []);
}

test.each([
  ['letters', 'x'],
  ['blanks that are no blanks', '\u2800'],
  ['wide characters', '本'],
])('no agent can begin a row of the terminal, however long its message: %s', (_, filler) => {
  const written: string[] = [];
  const out = Object.assign(
    new Writable({ write: (chunk, _encoding, done) => done(void written.push(String(chunk))) }),
    { columns: 80 },
  );
  const printer = new RunPrinter(out, createRedactor());
  printer.runBegan({
    runId: 'r',
    issue: issue({ identifier: 'AB-1' }),
    attempt: null,
    number: 1,
    reason: 'first',
    workflowHash: '',
    resume: null,
  });

  for (let length = 1; length < 140; length++) {
    const text = `${filler.repeat(length)}AB-2     ✓ finished`;
    printer.runtimeEvent('r', {
      type: 'notification',
      timestamp: '',
      pid: null,
      method: 'item/completed',
      data: { item: { type: 'agentMessage', text } },
    });
  }

  expect(rowsOf(written.join('')).filter((row) => !/^(AB-1 {5}| {11})/.test(row))).toEqual([]);
});
