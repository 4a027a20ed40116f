import { describe, expect, test } from 'vitest';
import { restore } from '../../orchestrator/restore.js';
import { initialState } from '../../orchestrator/state.js';
import type { DurableChange } from '../../src/domain/durable.js';
import type { Store } from '../../src/domain/ports.js';
import { createMemoryStore } from '../../src/store/memory-store.js';
import { Core, ofType, starts } from '../support/core.js';

/** A second daemon on what the first one had stored, and nothing else. */
async function restarted(core: Core): Promise<Core> {
  const store: Store = createMemoryStore();
  for (const { change } of ofType(core.effects, 'persist')) await store.write(change as DurableChange);
  const next = new Core();
  for (const [id, issue] of core.board) next.board.set(id, issue);
  next.nowMs = core.nowMs;
  const fresh = initialState(core.state.config, 'hash-1', 'second', next.now.wallMs);
  next.state = restore(fresh, await store.load(), next.now.wallMs);
  return next;
}

describe('after a restart', () => {
  test('an interrupted issue goes on, on its thread, and it counts as no failure', async () => {
    const core = new Core().put('A');
    core.poll();
    core.signal('A', { type: 'session', threadId: 'thread', turnId: 'u', turn: 1 });

    const next = await restarted(core);

    expect(starts(next.poll())).toMatchObject([
      { reason: 'resumed', number: 2, resume: { threadId: 'thread', answer: null } },
    ]);
    expect(next.claim('A').failures).toBe(0);
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

  test('a clock that was set back in between makes no one wait longer than before', async () => {
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

  test('an answer that was given and not yet delivered is delivered', async () => {
    const question = { id: 'q', kind: 'approval', text: '?', fields: [] } as const;
    const core = new Core().put('A');
    core.poll();
    core.signal('A', { type: 'session', threadId: 'thread', turnId: 'u', turn: 1 });
    core.fail('A', 'turn_input_required', { question });
    core.send({ type: 'answer_given', issueId: 'A', questionId: 'q', answer: { kind: 'accept' } });
    core.answerReads();

    const next = await restarted(core);

    expect(starts(next.poll())).toMatchObject([
      { reason: 'answer', resume: { threadId: 'thread', answer: { answer: { kind: 'accept' } } } },
    ]);
  });
});
