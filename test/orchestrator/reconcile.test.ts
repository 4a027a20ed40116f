import { describe, expect, test } from 'vitest';
import type { Issue } from '../../src/domain/issue.js';
import { Core, ofType, started, stops } from '../support/core.js';

const DOWN = { ok: false, code: 'tracker_request', message: 'down' } as const;

describe('a running issue', () => {
  test('S2-73 that became terminal is stopped, and its workspace removed only after the exit', () => {
    const core = new Core().put('A');
    core.poll();
    core.change('A', { state: 'Done' });

    const onPoll = core.poll();
    const onExit = core.fail('A', 'CANCELLED_BY_ORCHESTRATOR');

    expect(stops(onPoll)).toEqual(['terminal']);
    expect(ofType(onPoll, 'remove_workspace')).toEqual([]);
    expect(ofType(onExit, 'remove_workspace').map((effect) => effect.issue.id)).toEqual(['A']);
    expect(core.standing('A')).toBe('unclaimed');
  });

  test.each([
    ['S2-73 that is neither active nor terminal', { state: 'Backlog' }, 'inactive'],
    ['that is no longer routable', { dispatchable: false }, 'unroutable'],
  ] as const)('%s is stopped and keeps its workspace', (_, change: Partial<Issue>, reason) => {
    const core = new Core().put('A');
    core.poll();
    core.change('A', change);

    const effects = [...core.poll(), ...core.fail('A', 'CANCELLED_BY_ORCHESTRATOR')];

    expect(stops(effects)).toEqual([reason]);
    expect(ofType(effects, 'remove_workspace')).toEqual([]);
    expect(core.standing('A')).toBe('unclaimed');
  });

  test('that is gone is stopped and keeps its workspace', () => {
    const core = new Core().put('A');
    core.poll();
    core.board.delete('A');

    expect(stops(core.poll())).toEqual(['gone']);
  });

  test('that the tracker reports as unknown is left alone: unknown is not gone', () => {
    const core = new Core().put('A');
    core.poll();
    core.unknown.add('A');

    expect(stops(core.poll())).toEqual([]);
    expect(core.standing('A')).toBe('running');
  });

  test('is left alone when the refresh fails', () => {
    const core = new Core().put('A');
    core.poll();
    core.change('A', { state: 'Done' });
    core.send({ type: 'refresh_requested' });

    expect(stops(core.answerPoll({ refresh: DOWN }))).toEqual([]);
    expect(core.state.poll.failure?.code).toBe('tracker_request');
  });

  test('that is already stopping is not stopped twice', () => {
    const core = new Core().put('A');
    core.poll();
    core.change('A', { state: 'Backlog' });
    core.poll();

    expect(stops(core.poll())).toEqual([]);
  });

  test('that becomes terminal while it is stopping is cleaned up after the exit', () => {
    const core = new Core().put('A');
    core.poll();
    core.change('A', { state: 'Backlog' });
    core.poll();
    core.change('A', { state: 'Done' });
    core.poll();

    expect(ofType(core.fail('A', 'CANCELLED_BY_ORCHESTRATOR'), 'remove_workspace')).toHaveLength(1);
  });

  test('stopping frees no slot: only the exit does', () => {
    const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put({ id: 'A', priority: 1 }, 'B');
    core.poll();
    core.change('A', { state: 'Backlog' });

    expect(started(core.poll())).toEqual([]);
    core.exit('A');
    expect(started(core.answerRead())).toEqual(['B']);
  });

  test('an observation does not affect an issue that it did not ask about', () => {
    const core = new Core({ agent: { maxConcurrentAgents: 2 } }).put('A');
    core.poll();
    core.send({ type: 'refresh_requested' });
    core.put('B');
    core.answerPoll();
    core.send({ type: 'refresh_requested' });
    const poll = core.last('poll');

    core.send({ type: 'run_exited', runId: core.runId('B'), outcome: { state: 'success', output: null, meta: {} } });
    const asked = (poll?.ids ?? []).filter((id) => id !== 'B');
    core.send({
      type: 'observed',
      observation: {
        seq: poll?.seq ?? 0,
        asked,
        refresh: core.readBoard(asked),
        candidates: { ok: true, issues: [], unknown: [] },
        freeDiskMb: null,
      },
    });

    expect(core.standing('B')).toBe('waiting');
  });

  test('an answer to an older request is ignored', () => {
    const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put({ id: 'A', priority: 1 }, 'B');
    core.poll();
    core.change('B', { state: 'Done' });
    core.send({ type: 'refresh_requested' });
    const old = core.readBoard(['A', 'B']);
    core.change('B', { state: 'Todo' });
    core.fail('A');
    core.answerRead();
    expect(core.standing('B')).toBe('running');

    const seq = core.state.poll.inFlightSeq ?? 0;
    const observation = {
      seq,
      asked: ['A', 'B'],
      refresh: old,
      candidates: { ok: true, issues: [], unknown: [] },
      freeDiskMb: null,
    } as const;

    expect(stops(core.send({ type: 'observed', observation }))).toEqual([]);
  });

  test('a released issue does not start from an observation ordered before its release', () => {
    const core = new Core().put('A');
    core.poll();
    core.exit('A');
    core.advance(1_000);
    core.send({ type: 'refresh_requested' });
    const stale = [...core.board.values()];
    core.change('A', { state: 'Done' });
    core.answerRead();
    expect(core.standing('A')).toBe('unclaimed');
    core.send({ type: 'workspace_removed', issueId: 'A', report: { ok: true } });

    const effects = core.answerPoll({
      refresh: { ok: true, issues: [], unknown: [] },
      candidates: { ok: true, issues: stale, unknown: [] },
    });

    expect(started(effects)).toEqual([]);
  });
});

describe('finish grace', () => {
  const moved = () => {
    const core = new Core({ agent: { finishGraceMs: 120_000 } }).put('A');
    core.poll();
    core.signal('A', { type: 'phase', phase: 'agent' });
    core.signal('A', { type: 'moved_issue', state: 'Done' });
    core.change('A', { state: 'done' });
    return core;
  };

  test('an agent that moved its own issue may finish its turn', () => {
    const core = moved();

    expect(stops(core.poll())).toEqual([]);
    expect(stops(core.advance(119_000))).toEqual([]);
    expect(stops(core.advance(1_000))).toEqual(['terminal']);
  });

  test('after that turn the issue is cleaned up as usual', () => {
    const core = moved();
    core.poll();

    const effects = core.finish('A');

    expect(ofType(effects, 'remove_workspace')).toHaveLength(1);
    expect(core.standing('A')).toBe('unclaimed');
  });

  test('a change by anyone else stops the run at once', () => {
    const core = moved();
    core.poll();
    core.change('A', { state: 'Backlog' });

    expect(stops(core.poll())).toEqual(['inactive']);
  });

  const seenDuringCall = (state: string) => {
    const core = new Core({ agent: { finishGraceMs: 120_000 } }).put('A');
    core.poll();
    core.signal('A', { type: 'phase', phase: 'agent' });
    core.signal('A', { type: 'host_calls', open: 1 });
    core.change('A', { state });
    return core;
  };

  test('a move that is visible before the tool call returns counts as the agent’s own', () => {
    const core = seenDuringCall('Done');
    expect(stops(core.poll())).toEqual([]);

    core.signal('A', { type: 'moved_issue', state: 'Done' });
    const effects = core.signal('A', { type: 'host_calls', open: 0 });

    expect(stops(effects)).toEqual([]);
    expect(stops(core.poll())).toEqual([]);
    expect(stops(core.advance(120_000))).toEqual(['terminal']);
  });

  test('a move by someone else during a tool call stops the run as soon as the call has ended', () => {
    const core = seenDuringCall('Backlog');
    expect(stops(core.poll())).toEqual([]);

    const effects = core.signal('A', { type: 'host_calls', open: 0 });

    expect(stops(effects)).toEqual(['inactive']);
  });

  test('a tool call that never returns keeps a run no longer than its grace', () => {
    const core = seenDuringCall('Done');
    core.poll();
    core.advance(60_000);
    core.poll();

    expect(stops(core.advance(60_000))).toEqual(['terminal']);
  });

  test('an issue that is moved back to an active state continues without a limit', () => {
    const core = moved();
    core.poll();
    core.change('A', { state: 'Todo' });
    core.poll();

    expect(stops(core.advance(200_000))).toEqual([]);
  });
});

describe('cleanup', () => {
  test('an issue is not started again while its workspace is being removed', () => {
    const core = new Core().put('A');
    core.poll();
    core.change('A', { state: 'Done' });
    core.poll();
    core.fail('A', 'CANCELLED_BY_ORCHESTRATOR');
    core.change('A', { state: 'Todo' });

    const during = core.poll();
    core.send({ type: 'workspace_removed', issueId: 'A', report: { ok: true } });

    expect(started(during)).toEqual([]);
    expect(started(core.poll())).toEqual(['A']);
  });

  test('leftover workspaces are removed for terminal issues only', () => {
    const core = new Core().put({ id: 'A', state: 'Done' }, { id: 'B', state: 'Backlog' }, { id: 'D', state: 'Done' });
    core.unknown.add('D');
    const leftovers = ['A', 'B', 'gone', 'D'].map((issueId) => ({ issueId, identifier: `${issueId}!` }));
    core.send({ type: 'started', leftovers });

    const effects = core.answerPoll();

    expect(ofType(effects, 'remove_workspace').map((effect) => effect.issue.id)).toEqual(['A']);
    expect(Object.keys(core.state.leftovers)).toEqual(['D']);
  });

  test('a failed removal is logged, and the issue is free', () => {
    const core = new Core().put('A');
    core.poll();
    core.change('A', { state: 'Done' });
    core.poll();
    core.fail('A', 'CANCELLED_BY_ORCHESTRATOR');

    const effects = core.send({ type: 'workspace_removed', issueId: 'A', report: { ok: false, message: 'busy' } });

    expect(ofType(effects, 'note').map((effect) => effect.note.message)).toContain(
      'workspace could not be removed, trying again in an hour',
    );
    expect(core.state.removals).toEqual({});
  });

  test('an old answer about a leftover workspace does not override a newer one', () => {
    const core = new Core().put('A');
    core.send({ type: 'started', leftovers: [{ issueId: 'A', identifier: 'A' }] });
    core.answerPoll({ refresh: { ok: true, issues: [], unknown: ['A'] } });
    core.fail('A');
    core.change('A', { state: 'Done' });
    core.send({ type: 'refresh_requested' });
    const old = core.readBoard(['A']);
    core.send({ type: 'retry_requested', issueId: 'A' });
    core.board.delete('A');
    core.answerReads();

    const effects = core.answerPoll({ refresh: old });

    expect(core.standing('A')).toBe('unclaimed');
    expect(ofType(effects, 'remove_workspace')).toEqual([]);
  });

  test('a failed removal is repeated after an hour, unless its issue became active again', () => {
    const core = new Core().put({ id: 'A', state: 'Done' }, { id: 'B', state: 'Done' });
    const leftovers = ['A', 'B'].map((id) => ({ issueId: id, identifier: id }));
    core.send({ type: 'started', leftovers });
    core.answerPoll();
    for (const issueId of ['A', 'B'])
      core.send({ type: 'workspace_removed', issueId, report: { ok: false, message: 'disk full' } });
    core.change('B', { state: 'Backlog' });

    core.nowMs += 3_599_999;
    expect(ofType(core.poll(), 'remove_workspace')).toEqual([]);
    core.nowMs += 1;
    expect(ofType(core.poll(), 'remove_workspace').map(({ issue }) => issue.id)).toEqual(['A']);
  });
});

describe('polls', () => {
  test('the first poll is immediate, the next one an interval after its answer', () => {
    const core = new Core();

    const first = core.tick();
    core.nowMs = 5_000;
    core.answerPoll();

    expect(ofType(first, 'poll')).toHaveLength(1);
    expect(ofType(core.advance(29_999), 'poll')).toHaveLength(0);
    expect(ofType(core.advance(1), 'poll')).toHaveLength(1);
  });

  test('"no work" and "cannot see" differ', () => {
    const core = new Core();
    core.poll();
    const noWork = core.state.poll;

    core.send({ type: 'refresh_requested' });
    core.answerPoll({ candidates: DOWN });

    expect(noWork.failure).toBeNull();
    expect(core.state.poll.failure).toMatchObject({ code: 'tracker_request', message: 'down' });
  });

  test('a refresh requested during a poll leads to another poll right after it', () => {
    const core = new Core();
    core.tick();
    core.send({ type: 'refresh_requested' });

    expect(ofType(core.answerPoll(), 'poll')).toHaveLength(1);
  });

  test('a falling quota slows polling down until its reset', () => {
    const core = new Core().put('A');
    core.rateLimit = { remaining: 50, resetAtMs: core.now.wallMs + 3_600_000 };
    core.poll();

    expect(core.state.poll.nextAtMs - core.now.wallMs).toBe(360_000);
    core.nowMs = 3_600_000;
    core.poll();
    expect(core.state.poll.nextAtMs - core.now.wallMs).toBe(30_000);
  });

  test('a used-up quota starts nothing until its reset, and then everything again', () => {
    const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put('A', 'B');
    core.poll();
    core.send({ type: 'refresh_requested' });
    core.answerPoll({
      candidates: { ok: false, code: 'tracker_rate_limited', message: 'later', resetAtMs: core.now.wallMs + 90_000 },
    });
    core.fail('A');

    expect(ofType(core.advance(89_000), 'poll')).toEqual([]);
    expect(ofType(core.advance(1_000), 'poll')).toHaveLength(1);
    expect(started(core.answerPoll())).toEqual(['A']);
  });

  test('an answer to a poll that is not in flight is ignored', () => {
    const core = new Core().put('A');
    core.poll();
    const before = core.state;
    const observation = {
      seq: 1,
      asked: ['A'],
      refresh: { ok: true, issues: [], unknown: [] },
      candidates: { ok: true, issues: [], unknown: [] },
      freeDiskMb: 0,
    } as const;

    core.send({ type: 'observed', observation });

    expect(core.state).toEqual(before);
  });
});
