import { describe, expect, test } from 'vitest';
import { restore } from '../../orchestrator/restore.js';
import { initialState } from '../../orchestrator/state.js';
import type { DurableChange } from '../../src/domain/durable.js';
import { cancelled } from '../../src/domain/outcome.js';
import type { Store } from '../../src/domain/ports.js';
import { Core, ofType, started, starts } from '../support/core.js';
import { createMemoryStore } from '../support/memory-store.js';

/** A second daemon on what the earlier ones had stored, and nothing else. */
async function restarted(core: Core, instance = 'second'): Promise<Core> {
  const store: Store = createMemoryStore();
  const writes = ofType(core.effects, 'persist');
  for (const { change } of writes) await store.write(change as DurableChange);
  const next = new Core();
  next.effects.push(...writes);
  for (const [id, issue] of core.board) next.board.set(id, issue);
  next.nowMs = core.nowMs;
  const fresh = initialState(core.state.config, 'hash-1', instance, next.now.wallMs);
  next.state = restore(fresh, await store.load(), next.now.wallMs);
  return next;
}

/** The first poll was asked for before the run was closed: what it says about that issue is read once more. */
const pollAndRead = (core: Core) => [...core.poll(), ...core.answerReads()];

describe('after a restart', () => {
  test('an interrupted issue resumes its thread, without counting a failure', async () => {
    const core = new Core().put('A');
    core.poll();
    core.signal('A', { type: 'session', threadId: 'thread', turnId: 'u', turn: 1 });

    const next = await restarted(core);

    next.begin();
    expect(starts(pollAndRead(next))).toMatchObject([
      { reason: 'resumed', number: 2, resume: { threadId: 'thread', answer: null } },
    ]);
    expect(next.claim('A').failures).toBe(0);
  });

  test('an issue that a person stopped stays stopped when the daemon was killed while its run ended', async () => {
    const core = new Core().put('A');
    core.poll();
    core.signal('A', { type: 'session', threadId: 'thread', turnId: 'u', turn: 1 });
    core.send({ type: 'stop_requested', issueId: 'A' });

    const next = await restarted(core);

    next.begin();
    expect(started(pollAndRead(next))).toEqual([]);
    expect(next.standing('A')).toBe('parked: stopped_by_operator');
  });

  test('a retry requested while the run ended happens after the restart', async () => {
    const core = new Core().put('A');
    core.poll();
    core.send({ type: 'stop_requested', issueId: 'A' });
    core.send({ type: 'retry_requested', issueId: 'A' });

    const next = await restarted(core);

    next.begin();
    expect(starts(pollAndRead(next))).toMatchObject([{ issue: { id: 'A' }, number: 2 }]);
  });

  test('an answer that was just delivered is delivered again, until a later turn has begun', async () => {
    const question = { id: 'q', kind: 'approval', text: 'rm?', fields: [] } as const;
    const answer = { kind: 'accept' } as const;
    const core = new Core().put('A');
    core.poll();
    core.signal('A', { type: 'session', threadId: 'thread', turnId: 'u', turn: 1 });
    core.signal('A', { type: 'asked', question });
    core.send({ type: 'answer_given', issueId: 'A', questionId: 'q', answer });
    core.signal('A', { type: 'question_closed', questionId: 'q' });
    const killed = await restarted(core);
    core.signal('A', { type: 'session', threadId: 'thread', turnId: 'u2', turn: 2 });
    const later = await restarted(core);

    killed.begin();
    later.begin();

    expect(starts(pollAndRead(killed))).toMatchObject([
      { reason: 'answer', resume: { threadId: 'thread', answer: { question, answer } } },
    ]);
    expect(starts(pollAndRead(later))).toMatchObject([
      { reason: 'resumed', resume: { threadId: 'thread', answer: null } },
    ]);
  });

  test('an interrupted run keeps its slot and its issue until it is closed', async () => {
    const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put('A', 'B');
    core.poll();
    const runId = core.runId('A');

    const next = await restarted(core);
    const [closing] = ofType(next.send({ type: 'started', leftovers: [] }), 'close_run');

    expect(closing?.order).toMatchObject({ runId, issue: { id: 'A' }, number: 1 });
    expect(started(next.poll())).toEqual([]);
    next.send({ type: 'run_exited', runId, outcome: cancelled('shutdown') });
    expect(started(next.answerReads())).toEqual(['A']);
  });

  test('an issue that finished meanwhile is cleaned up only once its run is closed', async () => {
    const core = new Core().put('A');
    core.poll();
    const runId = core.runId('A');
    core.change('A', { state: 'Done' });

    const next = await restarted(core);
    next.send({ type: 'started', leftovers: [{ issueId: 'A', identifier: 'A' }] });

    expect(ofType(next.poll(), 'remove_workspace')).toEqual([]);
    const effects = next.send({ type: 'run_exited', runId, outcome: cancelled('shutdown') });
    expect(ofType(effects, 'remove_workspace')).toHaveLength(1);
    expect(next.standing('A')).toBe('unclaimed');
  });

  test('a run that asked keeps its question, and resumes its thread with the answer', async () => {
    const question = { id: 'q', kind: 'approval', text: '?', fields: [] } as const;
    const core = new Core().put('A');
    core.poll();
    core.signal('A', { type: 'session', threadId: 'thread', turnId: 'u', turn: 1 });
    core.signal('A', { type: 'asked', question });

    const next = await restarted(core);
    next.begin();

    expect(started(next.poll())).toEqual([]);
    expect(next.status('A', 'parked')).toMatchObject({ reason: 'input_required', question, threadId: 'thread' });
    next.send({ type: 'answer_given', issueId: 'A', questionId: 'q', answer: { kind: 'accept' } });
    expect(starts(next.answerReads())).toMatchObject([
      { reason: 'answer', resume: { threadId: 'thread', answer: { question } } },
    ]);
  });

  test('a run that asked under on_input_timeout: decline asks again', async () => {
    const question = { id: 'q', kind: 'approval', text: '?', fields: [] } as const;
    const core = new Core({ agent: { onInputTimeout: 'decline' } }).put('A');
    core.poll();
    core.signal('A', { type: 'session', threadId: 'thread', turnId: 'u', turn: 1 });
    core.signal('A', { type: 'asked', question });

    const next = await restarted(core);
    next.begin();

    expect(starts(pollAndRead(next))).toMatchObject([{ reason: 'resumed', resume: { threadId: 'thread' } }]);
  });

  test('a question that was answered or withdrawn is not asked again', async () => {
    const question = { id: 'q', kind: 'approval', text: '?', fields: [] } as const;
    const core = new Core().put('A');
    core.poll();
    core.signal('A', { type: 'asked', question });
    core.send({ type: 'answer_given', issueId: 'A', questionId: 'q', answer: { kind: 'accept' } });

    const next = await restarted(core);
    next.begin();

    expect(starts(pollAndRead(next))).toMatchObject([{ reason: 'resumed' }]);
  });

  test('a retry requested while the run is being closed happens right after', async () => {
    const core = new Core().put('A');
    core.poll();
    core.send({ type: 'stop_requested', issueId: 'A' });
    const runId = core.runId('A');

    const next = await restarted(core);
    next.send({ type: 'started', leftovers: [] });
    next.send({ type: 'stop_requested', issueId: 'A' });
    next.send({ type: 'retry_requested', issueId: 'A' });
    next.send({ type: 'run_exited', runId, outcome: cancelled('shutdown') });

    expect(started(pollAndRead(next))).toEqual(['A']);
  });

  test('a retry keeps its due time and its count', async () => {
    const core = new Core().put('A');
    core.poll();
    core.fail('A');
    const { dueAtMs } = core.status('A', 'waiting');

    const next = await restarted(core);
    next.poll();

    expect(next.status('A', 'waiting').dueAtMs).toBe(dueAtMs);
    expect(next.claim('A').failures).toBe(1);
    next.nowMs += 15_000;
    expect(starts(next.poll())).toMatchObject([{ attempt: 1, number: 2 }]);
  });

  test('a clock set back in between makes no issue wait longer', async () => {
    const core = new Core().put('A', 'B');
    core.nowMs = 365 * 86_400_000;
    core.poll();
    core.fail('A');
    core.fail('B', 'agent_unauthorized');
    const { dueAtMs, sinceMs } = core.status('A', 'waiting');
    const untilMs = core.state.holds.agent?.untilMs ?? 0;
    core.nowMs = 0;

    const next = await restarted(core);

    expect(next.status('A', 'waiting').dueAtMs - next.now.wallMs).toBe(dueAtMs - sinceMs);
    expect((next.state.holds.agent?.untilMs ?? 0) - next.now.wallMs).toBe(untilMs - sinceMs);
  });

  test('an old wait that was just extended is no longer than a backoff after the clock was set back', async () => {
    const core = new Core().put('A', 'B');
    core.poll();
    core.fail('A');
    core.fail('B', 'agent_unauthorized');
    core.nowMs += 40 * 60_000;
    core.send({ type: 'retry_requested', issueId: 'A' });
    core.nowMs -= 60 * 60_000;

    const next = await restarted(core);

    expect(next.status('A', 'waiting').dueAtMs - next.now.wallMs).toBeLessThanOrEqual(330_000);
    expect((next.state.holds.agent?.untilMs ?? 0) - next.now.wallMs).toBeLessThanOrEqual(330_000);
  });

  test('parked issues, holds and the pause are still there', async () => {
    const core = new Core({ agent: { maxAttempts: 1 } }).put('A', 'B');
    core.poll();
    core.fail('A');
    core.fail('B', 'agent_unauthorized');
    core.send({ type: 'pause_requested' });

    const next = await restarted(core);

    expect(next.standing('A')).toBe('parked: too_many_failures');
    expect(next.state.holds.agent?.code).toBe('agent_unauthorized');
    expect(next.state.pausedSinceMs).not.toBeNull();
  });

  test('an answer that was not delivered yet is delivered', async () => {
    const question = { id: 'q', kind: 'approval', text: '?', fields: [] } as const;
    const core = new Core().put('A');
    core.poll();
    core.signal('A', { type: 'session', threadId: 'thread', turnId: 'u', turn: 1 });
    core.fail('A', 'turn_input_required', { question });
    core.send({ type: 'answer_given', issueId: 'A', questionId: 'q', answer: { kind: 'accept' } });
    core.answerReads();

    const next = await restarted(core);

    next.begin();
    expect(starts(pollAndRead(next))).toMatchObject([
      { reason: 'answer', resume: { threadId: 'thread', answer: { answer: { kind: 'accept' } } } },
    ]);
  });
});

describe('an issue during whose runs the daemon dies', () => {
  /** The daemon dies `times` times in a row; each time another one closes the run and starts the next. */
  async function afterDeaths(core: Core, times: number): Promise<Core> {
    let last = core;
    for (let death = 1; death <= times; death++) {
      last = await restarted(last, `life-${death}`);
      last.begin();
      pollAndRead(last);
    }
    return last;
  }
  const working = () => {
    const core = new Core().put('A');
    core.poll();
    core.signal('A', { type: 'session', threadId: 'thread', turnId: 'u', turn: 1 });
    return core;
  };

  test('is parked at the third death in a row, and the next issue starts', async () => {
    const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put('A', 'B');
    core.poll();

    const second = await afterDeaths(core, 2);
    const third = await afterDeaths(second, 1);

    expect(second.standing('A')).toBe('running');
    expect(third.standing('A')).toBe('parked: daemon_died');
    expect(third.standing('B')).toBe('running');
  });

  test('is parked together with the issues that ran at the same deaths, and not with one that began later', async () => {
    const core = new Core().put('A', 'B');
    core.poll();

    const second = (await afterDeaths(core, 2)).put('C');
    pollAndRead(second);
    const third = await afterDeaths(second, 1);

    expect(['A', 'B', 'C'].map((id) => third.standing(id))).toEqual([
      'parked: daemon_died',
      'parked: daemon_died',
      'running',
    ]);
  });

  test.each<[string, (core: Core) => void]>([
    ['ends by itself', (core) => void [core.exit('A'), core.change('A', { title: 'More' }), core.advance(1_000)]],
    ['fails', (core) => void [core.fail('A'), core.advance(15_000), pollAndRead(core)]],
    [
      'is stopped and retried by a person',
      (core) => {
        core.send({ type: 'stop_requested', issueId: 'A' });
        core.exit('A', cancelled('operator'));
        core.send({ type: 'retry_requested', issueId: 'A' });
        core.answerReads();
      },
    ],
  ])('counts from the start again once a run %s', async (_, end) => {
    const core = await afterDeaths(working(), 2);

    end(core);
    expect(core.claim('A').daemonDeaths).toBe(0);
    const next = await afterDeaths(core, 2);

    expect(next.standing('A')).toBe('running');
  });

  test.each<[string, (core: Core) => void]>([
    ['a retry', (core) => void core.send({ type: 'retry_requested', issueId: 'A' })],
    ['a change of the issue', (core) => void core.change('A', { title: 'Another title' }).poll()],
  ])('starts again after %s, with no death counted', async (_, free) => {
    const core = await afterDeaths(working(), 3);
    expect(core.standing('A')).toBe('parked: daemon_died');

    free(core);
    core.answerReads();

    expect(core.standing('A')).toBe('running');
    expect(core.claim('A').daemonDeaths).toBe(0);
  });

  test('is not blamed for a shutdown that ran out of time', async () => {
    let core = working();
    for (let life = 1; life <= 4; life++) {
      core.send({ type: 'shutdown_requested' });
      core = await restarted(core, `life-${life}`);
      core.begin();
      pollAndRead(core);
    }

    expect(core.standing('A')).toBe('running');
    expect(core.claim('A').daemonDeaths).toBe(0);
  });

  test('is blamed once for a run, however often the daemon dies while it closes that run', async () => {
    let core = working();
    for (let life = 1; life <= 4; life++) {
      core = await restarted(core, `life-${life}`);
      core.send({ type: 'started', leftovers: [] });
      core.send({ type: 'shutdown_requested' });
    }
    const last = await afterDeaths(core, 1);

    expect(last.standing('A')).toBe('running');
    expect(last.claim('A').daemonDeaths).toBe(1);
  });

  test('keeps its question when it is parked', async () => {
    const question = { id: 'q', kind: 'approval', text: '?', fields: [] } as const;
    const core = await afterDeaths(working(), 2);
    core.signal('A', { type: 'asked', question });

    const next = await afterDeaths(core, 1);

    expect(next.status('A', 'parked')).toMatchObject({ reason: 'input_required', question });
  });
});
