import { describe, expect, test } from 'vitest';
import { judgeRequest } from '../../orchestrator/judge-request.js';
import { restore } from '../../orchestrator/restore.js';
import { initialState } from '../../orchestrator/state.js';
import type { Answer } from '../../src/domain/run-signal.js';
import { acceptanceText } from '../../src/text/requests.js';
import { Core, ofType, started, starts, stops } from '../support/core.js';
import { createMemoryStore } from '../support/memory-store.js';

const question = { id: 'q', kind: 'approval', text: 'diff', fields: [], heldPush: 'digest' } as const;
const HOUR_MS = 3_600_000;

/** A run that asks about its push, after its agent has moved the issue. */
function asking(state: string): Core {
  const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put('A');
  core.poll();
  core.signal('A', { type: 'session', threadId: 'thread', turnId: 'u', turn: 1 });
  core.signal('A', { type: 'asked', question });
  core.change('A', { state });
  core.poll();
  return core;
}

/** No answer came in time, and polls went on for hours. */
function parked(state: string): Core {
  const core = asking(state);
  core.advance(core.state.config.agent.inputTimeoutMs);
  core.fail('A', 'turn_input_required');
  for (let i = 0; i < 5; i++) {
    core.advance(HOUR_MS);
    core.poll();
  }
  return core;
}

const answer = (core: Core, given: Answer) =>
  core.send({ type: 'answer_given', issueId: 'A', questionId: 'q', answer: given });

async function restarted(core: Core): Promise<Core> {
  const store = createMemoryStore();
  for (const { change } of ofType(core.effects, 'persist')) await store.write(change);
  const next = new Core();
  next.state = restore(
    initialState(core.state.config, 'hash-1', 'second', next.now.wallMs),
    await store.load(),
    next.now.wallMs,
  );
  for (const issue of core.board.values()) next.put(issue);
  return next;
}

describe.each(['Done', 'Human Review'])('a held push of an issue in %s', (state) => {
  test('stays open for hours, without a slot, a run or a removal', () => {
    const core = parked(state);

    expect(core.status('A', 'parked')).toMatchObject({ reason: 'input_required', question });
    expect(core.state.runs).toEqual({});
    expect(starts(core.effects)).toHaveLength(1);
    expect(ofType(core.effects, 'remove_workspace')).toEqual([]);
  });

  test('changes and stores nothing at a poll', () => {
    const core = parked(state);

    expect(ofType(core.poll(), 'persist')).toEqual([]);
  });

  test('is pushed after a late answer and a restart, and only then the issue is done', async () => {
    const core = await restarted(parked(state));
    core.begin();
    core.poll();

    answer(core, { kind: 'accept' });
    expect(starts(core.answerReads())).toMatchObject([
      { reason: 'answer', resume: { answer: { question, answer: { kind: 'accept' } } } },
    ]);
    const whilePushing = [...core.poll(), ...core.advance(HOUR_MS), ...core.poll()];
    expect(stops(whilePushing)).toEqual([]);
    expect(ofType(core.effects, 'remove_workspace')).toEqual([]);
    const after = [...core.finish('A'), ...core.answerReads()];

    expect(core.standing('A')).toBe('unclaimed');
    expect(ofType(after, 'remove_workspace')).toHaveLength(state === 'Done' ? 1 : 0);
    expect(core.state.finished).toMatchObject([{ issueId: 'A', isTerminal: state === 'Done' }]);
    expect(started(core.poll())).toEqual([]);
  });

  test('is over once a person has declined it', () => {
    const core = parked(state);

    answer(core, { kind: 'decline' });
    core.answerReads();
    core.fail('A', 'push_declined');
    const effects = core.poll();

    expect(core.standing('A')).toBe('unclaimed');
    expect(ofType(effects, 'remove_workspace')).toHaveLength(state === 'Done' ? 1 : 0);
  });

  test('is asked again when its approved push cannot be carried out', () => {
    const core = parked(state);

    answer(core, { kind: 'accept' });
    core.answerReads();
    for (let failures = 1; core.standing('A') === 'running'; failures++) {
      core.fail('A', 'workspace_failed');
      core.advance(HOUR_MS);
      core.poll();
      core.answerReads();
      expect(failures).toBeLessThan(20);
    }
    core.poll();

    expect(core.status('A', 'parked')).toMatchObject({ reason: 'too_many_failures', question });
  });

  test('goes on after an interrupted push', async () => {
    const first = parked(state);
    answer(first, { kind: 'accept' });
    first.answerReads();

    const core = await restarted(first);
    core.begin();
    core.poll();

    expect(starts([...core.effects, ...core.answerReads()])).toMatchObject([{ resume: { answer: { question } } }]);
  });

  test('is released when the issue is gone from the tracker', () => {
    const core = parked(state);
    core.board.delete('A');
    core.poll();

    expect(core.standing('A')).toBe('unclaimed');
  });

  test('is not waited for once the issue is active again', () => {
    const core = parked(state);
    core.change('A', { state: 'Todo' });
    core.poll();

    expect(starts([...core.effects, ...core.answerReads()]).at(-1)).toMatchObject({ number: 2, resume: null });
  });

  test('is neither dropped by a retry nor by --issue', async () => {
    const core = parked(state);
    expect(judgeRequest(core.state, 'A', { kind: 'retry' })).toMatchObject({ code: 'retry_needs_answer' });
    core.send({ type: 'retry_requested', issueId: 'A' });
    core.poll();

    const next = await restarted(core);
    next.begin({ only: 'A' });
    next.poll();

    expect(next.status('A', 'parked')).toMatchObject({ question });
  });

  test('stays open when its run was stopped before it asked', () => {
    const core = new Core().put('A');
    core.poll();
    core.change('A', { state });
    expect(stops(core.poll())).toHaveLength(1);
    core.signal('A', { type: 'asked', question });
    core.fail('A', 'CANCELLED_BY_ORCHESTRATOR');
    core.poll();

    expect(core.status('A', 'parked')).toMatchObject({ question });
  });

  test('survives a stop of the issue while its answer waits', () => {
    const core = parked(state);
    core.send({ type: 'pause_requested' });
    answer(core, { kind: 'accept' });
    core.send({ type: 'stop_requested', issueId: 'A' });
    core.poll();

    expect(core.status('A', 'parked')).toMatchObject({ reason: 'stopped_by_operator', question });
  });
});

test('a question of an agent is dropped with the end of its issue', () => {
  const core = new Core().put('A');
  core.poll();
  const { heldPush: _, ...ofAgent } = question;
  core.fail('A', 'turn_input_required', { question: ofAgent });
  core.change('A', { state: 'Done' });

  expect(ofType(core.poll(), 'remove_workspace')).toHaveLength(1);
  expect(core.standing('A')).toBe('unclaimed');
});

test('the answer about a held push names the push, not an agent', () => {
  const core = asking('Done');

  const verdict = judgeRequest(core.state, 'A', { kind: 'answer', questionId: null, isDecline: false });

  expect(verdict).toMatchObject({ code: 'answered', params: { push: 'accepted' } });
  expect(verdict.isAccepted && acceptanceText(verdict)).toBe('The work of A is pushed now, without an agent.');
});
