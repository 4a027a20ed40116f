import { describe, expect, test } from 'vitest';
import { addSpending } from '../../orchestrator/ledger.js';
import type { RunRecord } from '../../src/domain/durable.js';
import { success } from '../../src/domain/outcome.js';
import { Core, ofType, stops } from '../support/core.js';

/** The last word on each run among everything that was ordered to be stored. */
function records(core: Core): RunRecord[] {
  const byId = new Map<string, RunRecord>();
  for (const { change } of ofType(core.effects, 'persist')) for (const run of change.runs) byId.set(run.runId, run);
  return [...byId.values()];
}

describe('the record of a run', () => {
  test('exists with its claim, and is complete when the run has ended', () => {
    const author = { login: 'ann', trusted: true };
    const core = new Core().put({ id: 'A', title: 'T', author, labels: ['x'] });
    core.poll();
    const [begun] = records(core);
    core.signal('A', { type: 'rendered', issueHash: 'i', promptHash: 'p' });
    core.signal('A', { type: 'agent_known', version: 'codex 1.2', model: 'm' });
    core.signal('A', { type: 'session', threadId: 't', turnId: 'u', turn: 1 });
    core.usage('A', 't', 100, 10, 40);
    core.usage('A', 't', 150, 30, 90);
    core.nowMs += 5_000;
    core.fail('A');

    expect(begun).toMatchObject({ issueId: 'A', number: 1, cause: 'poll', end: null });
    expect(records(core)).toEqual([
      {
        runId: 'test-1',
        issueId: 'A',
        identifier: 'A',
        title: 'T',
        author: 'ann',
        labels: ['x'],
        number: 1,
        reason: 'first',
        cause: 'poll',
        attempt: null,
        threadId: 't',
        turns: 1,
        daemonVersion: '',
        workflowHash: 'hash-1',
        issueHash: 'i',
        promptHash: 'p',
        agentVersion: 'codex 1.2',
        model: 'm',
        tokens: { input: 150, cached: 90, output: 30 },
        startedAtMs: core.now.wallMs - 5_000,
        end: { atMs: core.now.wallMs, outcome: 'failed', code: 'turn_failed', message: 'because of turn_failed' },
      },
    ]);
  });

  test('contains the cause of the run', () => {
    const question = { id: 'q', kind: 'approval', text: '?', fields: [] } as const;
    const core = new Core().put('A');
    core.poll();
    core.fail('A');
    core.nowMs += 20_000;
    core.poll();
    core.exit('A');
    core.nowMs += 1_000;
    core.change('A', { title: 'other' });
    core.poll();
    core.signal('A', { type: 'session', threadId: 't', turnId: 'u', turn: 1 });
    core.fail('A', 'turn_input_required', { question });
    core.send({ type: 'answer_given', issueId: 'A', questionId: 'q', answer: { kind: 'accept' } });
    core.answerReads();
    core.fail('A');
    core.send({ type: 'retry_requested', issueId: 'A' });
    core.answerReads();

    expect(records(core).map(({ reason, cause }) => `${reason} ${cause}`)).toEqual([
      'first poll',
      'retry retry',
      'continuation poll',
      'answer answer',
      'answer operator',
    ]);
  });

  test('S2-16 names a failed after_run, and the issue does until an after_run is good', () => {
    const core = new Core().put('A').put('B');
    core.poll();
    core.exit('A', success(null, { afterRunFailed: true }));
    core.exit('B', success(null, { afterRunFailed: true }));
    core.nowMs += 1_000;
    for (const id of ['A', 'B']) core.change(id, { title: 'other' });
    core.poll();
    core.fail('A');
    core.exit('B', success(null, { afterRunFailed: false }));
    for (const id of ['A', 'B']) core.change(id, { state: 'Done' });
    core.poll();

    const failed = records(core).map(({ identifier, number, end }) => [identifier, number, end?.afterRunFailed]);
    expect(failed.sort()).toEqual([
      ['A', 1, true],
      ['A', 2, undefined],
      ['B', 1, true],
      ['B', 2, undefined],
    ]);
    expect(core.state.finished.map(({ issueId, afterRunFailed }) => [issueId, afterRunFailed]).sort()).toEqual([
      ['A', true],
      ['B', undefined],
    ]);
  });

  test('counts only this run’s tokens of a resumed thread', () => {
    const core = new Core().put('A');
    core.poll();
    core.signal('A', { type: 'session', threadId: 't', turnId: 'u', turn: 1 });
    core.usage('A', 't', 100, 10);
    core.send({ type: 'shutdown_requested' });
    core.exit('A');
    core.state = { ...core.state, shutdown: null };
    core.nowMs += 60_000;
    core.poll();
    core.usage('A', 't', 130, 15);

    expect(records(core).map(({ tokens }) => tokens)).toEqual([
      { input: 100, cached: 0, output: 10 },
      { input: 30, cached: 0, output: 5 },
    ]);
  });

  test('is closed when its claim could not be stored, because the failed write may be on disk', () => {
    const core = new Core().put('A');
    core.confirmsWrites = false;
    core.poll();
    const { seq } = core.latest('persist');
    core.send({ type: 'persist_failed', seq, message: 'I/O error' });
    core.nowMs += 60_000;
    core.tick();

    expect(core.latest('persist').change.runs).toMatchObject([{ runId: 'test-1', end: { code: 'INTERRUPTED' } }]);
  });

  test('is not lost when it cannot be stored: the next successful write contains it', () => {
    const core = new Core().put('A');
    core.poll();
    core.confirmsWrites = false;
    core.exit('A');
    const lost = core.latest('persist');
    core.send({ type: 'persist_failed', seq: lost.seq, message: 'full' });
    core.nowMs += 60_000;
    core.tick();

    const again = core.latest('persist');
    expect(again.change).toMatchObject({ full: true, runs: [{ runId: 'test-1', end: { outcome: 'success' } }] });
    expect(Object.keys(core.state.ended)).toEqual(['test-1']);
    core.send({ type: 'persisted', seq: again.seq });
    expect(core.state.ended).toEqual({});
  });
});

describe('spending', () => {
  test('is recorded by day and issue', () => {
    const core = new Core().put('A', 'B');
    core.poll();
    core.usage('A', 'a', 100, 10, 60);
    core.usage('B', 'b', 7);
    core.nowMs += 86_400_000;
    core.usage('A', 'a', 110, 10, 60);

    expect(core.state.ledger).toEqual({
      '2026-01-01': {
        tokens: 57,
        issues: {
          A: { input: 100, cached: 60, output: 10, tokens: 50 },
          B: { input: 7, cached: 0, output: 0, tokens: 7 },
        },
      },
      '2026-01-02': { tokens: 10, issues: { A: { input: 10, cached: 0, output: 0, tokens: 10 } } },
    });
  });

  test('is written entry by entry: unchanged entries are not written again', () => {
    const core = new Core().put('A', 'B');
    core.poll();
    core.usage('A', 'a', 100);
    core.nowMs += 1_000;
    core.usage('B', 'b', 7);

    expect(core.latest('persist').change.ledger).toEqual({
      '2026-01-01': { tokens: 107, issues: { B: { input: 7, cached: 0, output: 0, tokens: 7 } } },
    });
  });

  test('keeps the last seven days in the state, and always today', () => {
    const spent = { input: 1, cached: 0, output: 0, tokens: 1 };
    let ledger = {};
    for (let day = 10; day < 30; day++) ledger = addSpending(ledger, `2026-01-${day}`, 'A', spent);

    expect(Object.keys(ledger)).toEqual([23, 24, 25, 26, 27, 28, 29].map((day) => `2026-01-${day}`));
    expect(Object.keys(addSpending(ledger, '2026-01-01', 'A', spent))).toEqual(
      ['01', 24, 25, 26, 27, 28, 29].map((day) => `2026-01-${day}`),
    );
  });

  test('of today is kept when the clock was ahead and came back', () => {
    const core = new Core({ agent: { maxTokensPerDay: 100 } }).put('A');
    core.poll();
    core.usage('A', 'a', 90);
    core.nowMs += 40_000 * 86_400_000;
    core.usage('A', 'a', 95);
    core.nowMs = 1_000;
    const effects = core.usage('A', 'a', 106);

    expect(core.state.ledger['2026-01-01']?.tokens).toBe(101);
    expect(stops(effects)).toEqual(['day_budget']);
  });
});
