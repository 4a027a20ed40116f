import { describe, expect, test } from 'vitest';
import { restore } from '../../orchestrator/restore.js';
import { initialState } from '../../orchestrator/state.js';
import { success } from '../../src/domain/outcome.js';
import { Core, ofType, started, starts, stops } from '../support/core.js';

const unkillable = () => {
  const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put({ id: 'A', priority: 1 }, 'B');
  core.poll();
  core.send({ type: 'run_unkillable', runId: core.runId('A') });
  return core;
};

describe('an issue whose processes outlive SIGKILL', () => {
  test('is not started by retry while they exist: it would be a second tree of the issue', () => {
    const core = unkillable();

    core.send({ type: 'retry_requested', issueId: 'A' });

    expect(core.standing('A')).toBe('parked: unkillable');
    expect(started([...core.answerReads(), ...core.poll()])).toEqual([]);
  });

  test('can be answered once they are gone', () => {
    const question = { id: 'q', kind: 'approval', text: '?', fields: [] } as const;
    const core = new Core().put('A');
    core.poll();
    core.signal('A', { type: 'asked', question });
    core.send({ type: 'run_unkillable', runId: core.runId('A') });
    core.exit('A');

    expect(core.status('A', 'parked').question).toEqual(question);
  });

  test('keeps its slot over a restart until they are gone', () => {
    const core = unkillable();
    const { claims, records, holds, pausedSinceMs, ledger, finished } = core.state;
    const fresh = initialState(core.state.config, 'hash-1', 'second', core.now.wallMs);
    core.state = restore(fresh, { claims, records, holds, pausedSinceMs, ledger, finished }, core.now.wallMs);

    core.send({ type: 'started', leftovers: [] });
    expect(started(core.poll())).toEqual([]);
    core.exit('A');
    expect(started(core.answerReads())).toEqual(['B']);
    expect(core.standing('A')).toBe('parked: unkillable');
  });
});

test('a leftover workspace that is being removed is not removed twice', () => {
  const core = new Core().put('A');
  core.send({ type: 'started', leftovers: [{ issueId: 'A', identifier: 'A' }] });
  core.answerPoll({ refresh: { ok: true, issues: [], unknown: ['A'] } });
  core.change('A', { state: 'Done' });
  core.poll();
  core.fail('A', 'CANCELLED_BY_ORCHESTRATOR');

  core.poll();

  expect(ofType(core.effects, 'remove_workspace')).toHaveLength(1);
});

describe('a run that succeeds while it is being stopped', () => {
  test('by a shutdown counts as a normal exit', () => {
    const core = new Core().put('A');
    core.poll();
    core.send({ type: 'shutdown_requested' });

    core.exit('A', success(null));

    expect(core.status('A', 'waiting')).toMatchObject({ reason: 'continuation', attempt: 1 });
  });

  test('by an operator is parked', () => {
    const core = new Core().put('A');
    core.poll();
    core.send({ type: 'stop_requested', issueId: 'A' });

    core.exit('A', success(null));

    expect(core.standing('A')).toBe('parked: stopped_by_operator');
  });
});

test('a poll without changes stores nothing, even with new objects', () => {
  const core = new Core().put('A');
  core.poll();
  core.board.set('A', structuredClone(core.claim('A').issue));

  expect(ofType(core.poll(), 'persist')).toEqual([]);
});

describe('tokens that are reported often', () => {
  const writes = (core: Core) => ofType(core.effects, 'persist').length;

  test('are written once a second, all of them', () => {
    const core = new Core().put('A', 'B');
    core.poll();
    const before = writes(core);

    for (let tokens = 1; tokens <= 500; tokens++) {
      core.usage('A', 'a', tokens);
      core.usage('B', 'b', tokens);
      core.advance(10);
    }
    core.advance(1_000);

    expect(writes(core) - before).toBe(6);
    expect(core.latest('persist').change).toMatchObject({
      claims: { A: { status: { run: { account: { tokens: { input: 500 } } } } } },
      records: { A: { tokens: 500 }, B: { tokens: 500 } },
      ledger: { '2026-01-01': { tokens: 1_000, issues: { A: { tokens: 500 }, B: { tokens: 500 } } } },
    });
  });

  test('are written with the end of the run', () => {
    const core = new Core().put('A');
    core.poll();
    core.usage('A', 'a', 1);
    core.usage('A', 'a', 2);
    const before = writes(core);

    core.exit('A');

    expect(writes(core) - before).toBe(1);
    expect(core.latest('persist').change).toMatchObject({
      records: { A: { tokens: 2 } },
      runs: [{ tokens: { input: 2 }, end: { outcome: 'success' } }],
    });
    expect(core.advance(900).filter(({ type }) => type === 'persist')).toEqual([]);
  });

  test('are part of the next full write when the store fails', () => {
    const core = new Core().put('A');
    core.poll();
    core.usage('A', 'a', 1);
    core.confirmsWrites = false;
    core.usage('A', 'a', 2);
    core.advance(1_000);
    core.send({ type: 'persist_failed', seq: core.latest('persist').seq, message: 'disk full' });
    core.usage('A', 'a', 3);
    core.advance(60_000);

    expect(core.latest('persist').change).toMatchObject({ full: true, records: { A: { tokens: 3 } } });
  });
});

test('a later write that succeeds does not lift the hold of an earlier one that failed', () => {
  const core = new Core().put('A');
  core.confirmsWrites = false;
  core.poll();
  core.send({ type: 'pause_requested' });
  core.send({ type: 'persist_failed', seq: 1, message: 'disk full' });

  core.send({ type: 'persisted', seq: 2 });

  expect(core.state.holds.store?.message).toBe('disk full');
});

test('an issue with its own daemon-wide error is treated normally after a successful run', () => {
  const core = new Core().put('A');
  core.poll();
  core.state = { ...core.state, claims: { A: { ...core.claim('A'), failedAsProbe: true } } };
  core.change('A', { title: 'another' });
  core.finish('A');

  core.fail('A', 'agent_unauthorized');

  expect(core.state.holds.agent?.code).toBe('agent_unauthorized');
  expect(core.claim('A').failures).toBe(0);
});

test('a shutdown waits until the last change is stored', () => {
  const core = new Core().put('A');
  core.poll();
  core.send({ type: 'shutdown_requested' });
  core.confirmsWrites = false;

  const effects = core.fail('A', 'INTERRUPTED');

  expect(ofType(effects, 'exit')).toEqual([]);
  const seq = ofType(effects, 'persist').at(-1)?.seq ?? -1;
  expect(ofType(core.send({ type: 'persisted', seq }), 'exit')).toEqual([{ type: 'exit', forced: false }]);
});

test('a shutdown does not wait for a store that is broken', () => {
  const core = new Core().put('A');
  core.poll();
  core.confirmsWrites = false;
  core.send({ type: 'pause_requested' });
  core.send({ type: 'persist_failed', seq: core.last('persist')?.seq ?? -1, message: 'disk full' });
  expect(stops(core.send({ type: 'shutdown_requested' }))).toEqual(['shutdown']);

  const effects = core.fail('A', 'INTERRUPTED');

  expect(ofType(effects, 'exit')).toEqual([{ type: 'exit', forced: false }]);
  expect(starts(effects)).toEqual([]);
});
