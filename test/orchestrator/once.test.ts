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
  test('every eligible issue runs once through the slots, and then the daemon leaves', () => {
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

  test('there is no continuation, however long the others take', () => {
    const core = once(new Core(two).put('A', 'B'));
    core.answerPoll();
    core.exit('A');

    const effects = core.advance(25_000);

    expect(started([...effects, ...core.poll(), ...core.advance(25_000)])).toEqual([]);
  });

  test('an issue that comes up after the first poll is for the next time', () => {
    const core = once(new Core().put('A'));
    core.answerPoll();
    core.put('B');

    expect(started(core.poll())).toEqual([]);
  });

  test('nothing to do is fine', () => {
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

  test('a run that ended because its issue had moved on counts as good', () => {
    const core = once(new Core().put('A'));
    core.answerPoll();
    core.change('A', { state: 'Backlog' });
    core.poll();
    core.exit('A', cancelled('inactive'));

    expect(left(core.answerPoll())).toEqual([false]);
    expect(onceExitCode(core.state)).toBe(0);
  });

  test('a failed first poll ends it with 1, and starts nothing', () => {
    const core = once(new Core().put('A'));
    const down = { ok: false, code: 'tracker_request', message: 'down' } as const;

    core.answerPoll({ candidates: down });
    const effects = core.answerPoll({ candidates: down });

    expect(started(effects)).toEqual([]);
    expect(left(effects)).toEqual([false]);
    expect(onceExitCode(core.state)).toBe(1);
  });

  test('a hold ends it with 1 once nothing runs any more; what was not started stays so', () => {
    const core = once(new Core({ agent: { maxConcurrentAgents: 1 } }).put('A', 'B'));
    core.answerPoll();

    core.fail('A', 'agent_unauthorized');
    const effects = core.answerPoll();

    expect(started(effects)).toEqual([]);
    expect(left(effects)).toEqual([false]);
    expect(onceExitCode(core.state)).toBe(1);
  });

  test('a hold of an earlier daemon is tried at once, and the rest goes on when it is gone', () => {
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

  test('whoever waits for a retry is due; whoever is parked is not', () => {
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

  test('an issue that shows no progress run by run is parked in the end, as always', () => {
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

  test('a tracker that is back at the second look is looked at no third time before all is over', () => {
    const core = once(new Core());
    core.rateLimit = { remaining: 4, resetAtMs: resetIn(core, 3_600_000) };
    core.answerPoll({ candidates: down });

    core.answerPoll();

    expect(left(core.answerPoll())).toEqual([false]);
  });

  test('a poll that a quota has put off is not waited for', () => {
    const core = once(new Core(one).put('A', 'B'));
    core.rateLimit = { remaining: 4, resetAtMs: resetIn(core, 3_600_000) };
    core.answerPoll();
    core.advance(600_000);
    core.exit('A');

    expect(started(core.answerReads())).toEqual(['B']);
  });

  test('whoever could not be started because of a spent quota makes the exit code 1, and nobody looks back before the reset', () => {
    const core = once(new Core().put('A'));
    core.rateLimit = { remaining: 0, resetAtMs: resetIn(core, 3_600_000) };

    const effects = core.answerPoll();

    expect(left(effects)).toEqual([false]);
    expect(ofType(effects, 'poll')).toEqual([]);
    expect(onceExitCode(core.state)).toBe(1);
  });

  test('a claim that could not be stored has its run still before it', () => {
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

  test('a run that cannot be killed is left behind, and makes the exit code 1', () => {
    const core = once(new Core().put('A'));
    core.answerPoll();
    core.send({ type: 'run_unkillable', runId: core.runId('A') });
    core.answerPoll();

    expect(left(core.advance(60_000))).toEqual([true]);
    expect(onceExitCode(core.state)).toBe(1);
    expect(onceResults(core.state)).toMatchObject([{ identifier: 'A', ok: false, code: 'unkillable' }]);
  });

  test('a second signal cuts runs off, and makes the exit code 1', () => {
    const core = once(new Core().put('A'));
    core.answerPoll();
    core.send({ type: 'shutdown_requested' });

    expect(left(core.send({ type: 'shutdown_requested' }))).toEqual([true]);
    expect(onceExitCode(core.state)).toBe(1);
    expect(onceResults(core.state)).toMatchObject([{ identifier: 'A', ok: false, code: 'INTERRUPTED' }]);
  });

  test('a signal before everybody had a turn makes the exit code 1', () => {
    const core = once(new Core(one).put('A', 'B'));
    core.answerPoll();
    core.send({ type: 'shutdown_requested' });
    core.exit('A');

    expect(onceExitCode(core.state)).toBe(1);
  });
});

describe('one issue', () => {
  test('exactly that one runs, however it is spelled', () => {
    const core = once(new Core().put('A', 'TASK-1', 'TASK-10'), ' task-1 ');

    expect(started(core.answerPoll())).toEqual(['TASK-1']);
    core.exit('TASK-1');
    expect(left(core.answerPoll())).toEqual([false]);
    expect(onceExitCode(core.state)).toBe(0);
  });

  test('one that is not there, or not eligible, is a failure', () => {
    const core = once(new Core().put({ id: 'A', dispatchable: false }), 'A');

    expect(started(core.answerPoll())).toEqual([]);
    expect(left(core.answerPoll())).toEqual([false]);
    expect(onceExitCode(core.state)).toBe(1);
  });

  test('a parked one is wanted by whoever names it', () => {
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
