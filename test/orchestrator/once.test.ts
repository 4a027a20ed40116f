import { describe, expect, test } from 'vitest';
import { onceExitCode, onceResults } from '../../orchestrator/once.js';
import { restore } from '../../orchestrator/restore.js';
import type { ParkReason } from '../../src/domain/claim.js';
import type { Effect } from '../../src/domain/effects.js';
import { cancelled, failure } from '../../src/domain/outcome.js';
import { Core, ofType, started } from '../support/core.js';

/** A daemon with `--once`, at its first poll. */
function once(core: Core, only: string | null = null): Core {
  core.send({ type: 'started', leftovers: [], once: { only } });
  return core;
}

const left = (effects: readonly Effect[]) => ofType(effects, 'exit').map(({ forced }) => forced);
const two = { agent: { maxConcurrentAgents: 2 } } as const;

describe('once', () => {
  test('every eligible issue runs once, and then the daemon exits', () => {
    const core = once(new Core(two).put('A', 'B', 'C'));

    expect(started(core.answerPoll())).toEqual(['A', 'B']);
    core.change('A', { state: 'Done' });
    core.exit('A');
    expect(started(core.answerReads())).toEqual(['C']);
    core.exit('B');
    core.exit('C');
    const effects = core.answerPoll();

    expect(ofType(effects, 'remove_workspace').map(({ issue }) => issue.id)).toEqual(['A']);
    expect(left(effects)).toEqual([]);
    expect(left(core.send({ type: 'workspace_removed', issueId: 'A', report: { ok: true } }))).toEqual([false]);
    expect(Object.keys(core.state.once?.results ?? {})).toEqual(['A', 'B', 'C']);
    expect(onceExitCode(core.state)).toBe(0);
  });

  test('an issue does not continue, however long the others take', () => {
    const core = once(new Core(two).put('A', 'B'));
    core.answerPoll();
    core.exit('A');

    const effects = core.advance(25_000);

    expect(started([...effects, ...core.poll(), ...core.advance(25_000)])).toEqual([]);
  });

  test('an issue that appears after the first poll does not run', () => {
    const core = once(new Core().put('A'));
    core.answerPoll();
    core.put('B');

    expect(started(core.poll())).toEqual([]);
  });

  test('no work exits with 0', () => {
    const core = once(new Core());

    core.answerPoll();

    expect(left(core.answerPoll())).toEqual([false]);
    expect(onceExitCode(core.state)).toBe(0);
  });

  test('a failed run is not retried, and makes the exit code 1', () => {
    const core = once(new Core().put('A'));
    core.answerPoll();
    core.fail('A', 'turn_failed');

    expect(left(core.answerPoll())).toEqual([false]);
    expect(core.state.once?.results.A).toMatchObject({ ok: false, code: 'turn_failed' });
    expect(onceExitCode(core.state)).toBe(1);
    expect(core.standing('A')).toBe('waiting');
  });

  test('a run that ended because its issue moved counts as a success', () => {
    const core = once(new Core().put('A'));
    core.answerPoll();
    core.change('A', { state: 'Backlog' });
    core.poll();
    core.exit('A', cancelled('inactive'));

    expect(left(core.answerPoll())).toEqual([false]);
    expect(onceExitCode(core.state)).toBe(0);
  });

  test('a failed first poll exits with 1 and starts nothing', () => {
    const core = once(new Core().put('A'));
    const down = { ok: false, code: 'tracker_request', message: 'down' } as const;

    core.answerPoll({ candidates: down });
    const effects = core.answerPoll({ candidates: down });

    expect(started(effects)).toEqual([]);
    expect(left(effects)).toEqual([false]);
    expect(onceExitCode(core.state)).toBe(1);
  });

  test('a hold exits with 1 once nothing runs; the remaining issues do not start', () => {
    const core = once(new Core({ agent: { maxConcurrentAgents: 1 } }).put('A', 'B'));
    core.answerPoll();

    core.fail('A', 'agent_unauthorized');
    const effects = core.answerPoll();

    expect(started(effects)).toEqual([]);
    expect(left(effects)).toEqual([false]);
    expect(onceExitCode(core.state)).toBe(1);
  });

  test('a hold of an earlier daemon is probed at once, and the other issues continue when it is lifted', () => {
    const before = new Core({ agent: { maxConcurrentAgents: 1 } }).put('A', 'B');
    before.poll();
    before.fail('A', 'agent_unauthorized');
    const core = new Core().put('A', 'B');
    core.state = restore(core.state, durableOf(before), core.now.wallMs);

    once(core);

    const [probe = ''] = started(core.answerPoll());
    core.usage(probe, 't', 10, 1);
    expect([probe, ...started(core.answerReads())].sort()).toEqual(['A', 'B']);
  });

  test('an issue that waits for a retry is due; a parked one is not', () => {
    const before = new Core().put('A', 'B');
    before.poll();
    before.fail('A');
    before.send({ type: 'stop_requested', issueId: 'B' });
    before.exit('B', cancelled('operator'));
    expect([before.standing('A'), before.standing('B')]).toEqual(['waiting', 'parked: stopped_by_operator']);
    const core = new Core().put('A', 'B');
    core.state = restore(core.state, durableOf(before), core.now.wallMs);

    once(core);

    expect(started(core.answerPoll())).toEqual(['A']);
  });

  test('an issue without progress over several runs is parked as usual', () => {
    const core = new Core({ agent: { maxRunsWithoutProgress: 2 } }).put('A');
    const goes: string[][] = [];
    for (let go = 0; go < 4; go++) {
      core.state = restore(new Core({ agent: { maxRunsWithoutProgress: 2 } }).state, durableOf(core), core.now.wallMs);
      once(core);
      goes.push(started(core.answerPoll()));
      if (goes.at(-1)?.length) core.exit('A');
      core.nowMs += 3_600_000;
      if (core.state.poll.inFlightSeq !== null) core.answerPoll();
    }

    expect(goes).toEqual([['A'], ['A'], [], []]);
    expect(core.standing('A')).toBe('parked: no_progress' satisfies `parked: ${ParkReason}`);
  });
});

describe('once, when things go wrong', () => {
  const down = { ok: false, code: 'tracker_request', message: 'down' } as const;
  const one = { agent: { maxConcurrentAgents: 1 } } as const;
  const resetIn = (core: Core, ms: number) => core.now.wallMs + ms;

  test('a tracker that recovers at the second poll is not polled a third time before the end', () => {
    const core = once(new Core());
    core.rateLimit = { remaining: 4, resetAtMs: resetIn(core, 3_600_000) };
    core.answerPoll({ candidates: down });

    core.answerPoll();

    expect(left(core.answerPoll())).toEqual([false]);
  });

  test('a poll that the quota delays is not waited for', () => {
    const core = once(new Core(one).put('A', 'B'));
    core.rateLimit = { remaining: 4, resetAtMs: resetIn(core, 3_600_000) };
    core.answerPoll();
    core.advance(600_000);
    core.exit('A');

    expect(started(core.answerReads())).toEqual(['B']);
  });

  test('an issue that could not start because of a spent quota makes the exit code 1, without a final poll before the reset', () => {
    const core = once(new Core().put('A'));
    core.rateLimit = { remaining: 0, resetAtMs: resetIn(core, 3_600_000) };

    const effects = core.answerPoll();

    expect(left(effects)).toEqual([false]);
    expect(ofType(effects, 'poll')).toEqual([]);
    expect(onceExitCode(core.state)).toBe(1);
  });

  test('an issue whose claim could not be stored is still due', () => {
    const core = once(new Core({ ...two, polling: { intervalMs: 5_000 } }).put('A', 'B'));
    core.confirmsWrites = false;
    core.answerPoll();
    const failing = core.latest('persist').seq;
    core.send({ type: 'persist_failed', seq: failing, message: 'disk full' });
    core.confirmsWrites = true;

    core.advance(20_000);
    core.answerPoll();

    expect(started(core.effects).sort()).toEqual(['A', 'B']);
  });

  test('a run that cannot be killed makes the exit code 1', () => {
    const core = once(new Core().put('A'));
    core.answerPoll();
    core.send({ type: 'run_unkillable', runId: core.runId('A') });
    core.answerPoll();

    expect(left(core.advance(60_000))).toEqual([true]);
    expect(onceExitCode(core.state)).toBe(1);
    expect(onceResults(core.state)).toMatchObject([{ identifier: 'A', ok: false, code: 'unkillable' }]);
  });

  test('a second signal cuts runs off and makes the exit code 1', () => {
    const core = once(new Core().put('A'));
    core.answerPoll();
    core.send({ type: 'shutdown_requested' });

    expect(left(core.send({ type: 'shutdown_requested' }))).toEqual([true]);
    expect(onceExitCode(core.state)).toBe(1);
    expect(onceResults(core.state)).toMatchObject([{ identifier: 'A', ok: false, code: 'INTERRUPTED' }]);
  });

  test('a signal before every issue has run makes the exit code 1', () => {
    const core = once(new Core(one).put('A', 'B'));
    core.answerPoll();
    core.send({ type: 'shutdown_requested' });
    core.exit('A');

    expect(onceExitCode(core.state)).toBe(1);
  });
});

describe('one issue', () => {
  test('exactly that issue runs, in any spelling', () => {
    const core = once(new Core().put('A', 'TASK-1', 'TASK-10'), ' task-1 ');

    expect(started(core.answerPoll())).toEqual(['TASK-1']);
    core.exit('TASK-1');
    expect(left(core.answerPoll())).toEqual([false]);
    expect(onceExitCode(core.state)).toBe(0);
  });

  test('an unknown or ineligible issue is a failure', () => {
    const core = once(new Core().put({ id: 'A', dispatchable: false }), 'A');

    expect(started(core.answerPoll())).toEqual([]);
    expect(left(core.answerPoll())).toEqual([false]);
    expect(onceExitCode(core.state)).toBe(1);
  });

  test('a parked issue that is named runs', () => {
    const before = new Core({ agent: { maxAttempts: 1 } }).put('A');
    before.poll();
    before.fail('A');
    const core = new Core().put('A');
    core.state = restore(core.state, durableOf(before), core.now.wallMs);

    once(core, 'a');

    expect(started(core.answerPoll())).toEqual(['A']);
  });

  test('an interrupted run is a failure', () => {
    const core = once(new Core().put('A'), 'A');
    core.answerPoll();
    core.send({ type: 'shutdown_requested' });

    expect(left(core.exit('A', failure('INTERRUPTED', 'stopped', { state: 'cancelled' })))).toEqual([false]);
    expect(onceExitCode(core.state)).toBe(1);
  });
});

function durableOf({ state }: Core) {
  const { claims, records, holds, pausedSinceMs, ledger, finished } = state;
  return { claims, records, holds, pausedSinceMs, ledger, finished };
}
