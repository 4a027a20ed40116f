import { describe, expect, test } from 'vitest';
import type { Config } from '../../src/domain/config.js';
import type { Question } from '../../src/domain/run-signal.js';
import type { DeepPartial } from '../support/builders.js';
import { Core, ofType, started, starts, stops } from '../support/core.js';

const QUESTION: Question = { id: 'q1', kind: 'approval', text: 'rm -rf /?', fields: [] };

function working(overrides: DeepPartial<Config> = {}): Core {
  const core = new Core(overrides).put('A');
  core.poll();
  core.signal('A', { type: 'phase', phase: 'agent' });
  core.signal('A', { type: 'session', threadId: 'thread', turnId: 'turn', turn: 1 });
  return core;
}

describe('stall', () => {
  test('S2-67 S2-69 silence over codex.stall_timeout_ms stops the run, which is retried', () => {
    const core = working();

    expect(stops(core.advance(299_999))).toEqual([]);
    expect(stops(core.advance(1))).toEqual(['stalled']);
    core.fail('A', 'stall_timeout');
    expect(core.status('A', 'waiting').error?.code).toBe('stall_timeout');
    expect(core.claim('A').failures).toBe(1);
  });

  test('S2-68 codex.stall_timeout_ms of 0 or less turns stall detection off', () => {
    const core = working({ codex: { stallTimeoutMs: 0 } });

    expect(stops(core.advance(100_000_000))).toEqual([]);
  });

  test('progress restarts the clock', () => {
    const core = working();
    core.advance(299_000);
    core.signal('A', { type: 'progress', openItems: 0 });

    expect(stops(core.advance(299_999))).toEqual([]);
    expect(stops(core.advance(1))).toEqual(['stalled']);
  });

  test('heartbeats do not mask a stall: token notices are no progress', () => {
    const core = working();
    for (let i = 1; i <= 5; i++) {
      core.advance(59_999);
      core.usage('A', 'thread', i);
    }

    expect(stops(core.advance(60_000))).toEqual(['stalled']);
  });

  test('a long build or a long silent reasoning is not killed: an open item stops the clock', () => {
    const core = working();
    core.signal('A', { type: 'progress', openItems: 1 });

    expect(stops(core.advance(3_000_000))).toEqual([]);
    core.signal('A', { type: 'progress', openItems: 0 });
    expect(stops(core.advance(299_999))).toEqual([]);
    expect(stops(core.advance(1))).toEqual(['stalled']);
  });

  test('hooks and workspace preparation do not count as silence', () => {
    const core = new Core().put('A');
    core.poll();

    expect(stops(core.advance(1_000_000))).toEqual([]);
  });

  test('time asleep is not silence', () => {
    const core = working();
    const asleep = { ...core.now, wallMs: core.now.wallMs + 8 * 3_600_000 };
    Object.defineProperty(core, 'now', { get: () => asleep });

    expect(stops(core.tick())).toEqual([]);
  });

  test('a run keeps the limit it started with', () => {
    const core = working();
    const config = { ...core.state.config, codex: { ...core.state.config.codex, stallTimeoutMs: 1 } };
    core.send({ type: 'config_changed', config, workflowHash: 'hash-2' });

    expect(stops(core.advance(299_999))).toEqual([]);
  });

  test('a stall while the model service is unreachable holds the daemon and counts as no failure', () => {
    const core = working();
    core.advance(300_000);

    core.fail('A', 'agent_unreachable');

    expect(core.state.holds.agent?.code).toBe('agent_unreachable');
    expect(core.claim('A').failures).toBe(0);
  });
});

describe('tokens', () => {
  const tokens = (core: Core) => core.state.records.A?.tokens;

  test('S2-61 absolute totals are counted as deltas: input − cached + output', () => {
    const core = working();
    core.usage('A', 'thread', 100, 10, 40);
    core.usage('A', 'thread', 100, 10, 40);
    core.usage('A', 'thread', 300, 20, 100);

    expect(tokens(core)).toBe(220);
    expect(core.state.ledger).toMatchObject({ '2026-01-01': { tokens: 220 } });
  });

  test('tokens of a resumed thread are not counted twice', () => {
    const core = working();
    core.usage('A', 'thread', 1_000);
    core.send({ type: 'shutdown_requested' });
    core.fail('A', 'INTERRUPTED');
    const revived = new Core().put('A');
    revived.state = { ...core.state, shutdown: null };
    expect(starts(revived.poll())).toMatchObject([{ resume: { threadId: 'thread' } }]);

    revived.usage('A', 'thread', 1_200);

    expect(tokens(revived)).toBe(1_200);
  });

  test('a resumed thread without known history starts counting at its first report', () => {
    const core = working();
    core.send({ type: 'shutdown_requested' });
    core.fail('A', 'INTERRUPTED');
    core.state = { ...core.state, shutdown: null };
    core.poll();

    core.usage('A', 'thread', 5_000);
    core.usage('A', 'thread', 5_100);

    expect(tokens(core)).toBe(100);
  });

  test.each([[-5], [1.5], [Number.NaN], [Number.POSITIVE_INFINITY], [2 ** 60]])(
    'SEC-15 a total of %s is ignored',
    (count) => {
      const core = working();
      core.usage('A', 'thread', 100);

      core.usage('A', 'thread', count);

      expect(tokens(core)).toBe(100);
    },
  );

  test('SEC-15 a shrinking total never lowers the sum, and counts only once when it grows back', () => {
    const core = working();
    core.usage('A', 'thread', 100);
    core.usage('A', 'thread', 50);
    core.usage('A', 'thread', 120);

    expect(tokens(core)).toBe(120);
  });

  test('an issue over its budget is interrupted, parked, and not dispatched again', () => {
    const core = working({ agent: { maxTokensPerIssue: 1_000 } });

    expect(stops(core.usage('A', 'thread', 1_000))).toEqual(['budget']);
    core.fail('A', 'budget_exceeded');
    expect(core.standing('A')).toBe('parked: budget');
    core.change('A', { title: 'changed' });
    expect(started(core.poll())).toEqual([]);
    core.change('A', { state: 'Backlog' });
    core.poll();
    core.change('A', { state: 'Todo' });
    expect(started(core.poll())).toEqual([]);
  });

  test('a retry grants a spent budget again, and a raised cap releases the issue too', () => {
    const asked = working({ agent: { maxTokensPerIssue: 1_000 } });
    asked.usage('A', 'thread', 1_000);
    asked.fail('A', 'budget_exceeded');
    asked.send({ type: 'retry_requested', issueId: 'A' });
    expect(started(asked.answerRead())).toEqual(['A']);

    const raised = working({ agent: { maxTokensPerIssue: 1_000 } });
    raised.usage('A', 'thread', 1_000);
    raised.fail('A', 'budget_exceeded');
    const config = { ...raised.state.config, agent: { ...raised.state.config.agent, maxTokensPerIssue: 2_000 } };
    raised.send({ type: 'config_changed', config, workflowHash: 'hash-2' });
    expect(started(raised.answerRead())).toEqual(['A']);
  });

  test('the daily budget holds until the next local day and stops active runs', () => {
    const core = working({ agent: { maxTokensPerDay: 500 } });

    expect(stops(core.usage('A', 'thread', 500))).toEqual(['day_budget']);
    core.fail('A', 'INTERRUPTED');
    expect(core.state.holds.budget?.untilMs).toBe(core.now.dayEndsAtMs);
    expect(started(core.poll())).toEqual([]);
    core.nowMs = 86_400_000;
    expect(starts(core.poll())).toMatchObject([{ reason: 'resumed', resume: { threadId: 'thread' } }]);
    expect(core.claim('A').failures).toBe(0);
  });
});

describe('asking', () => {
  const asking = (overrides: DeepPartial<Config> = {}) => {
    const core = working(overrides);
    core.signal('A', { type: 'asked', question: QUESTION });
    return core;
  };

  test('a run that asks a person keeps its slot, and its stall clock stops', () => {
    const core = asking({ agent: { maxConcurrentAgents: 1, inputTimeoutMs: 10_000_000 } });
    core.put('B');

    expect(core.standing('A')).toBe('asking');
    expect(stops(core.advance(9_000_000))).toEqual([]);
    expect(started(core.poll())).toEqual([]);
  });

  test('an answer goes to the run, and the clock restarts', () => {
    const core = asking();
    core.advance(500_000);

    const effects = core.send({ type: 'answer_given', issueId: 'A', questionId: 'q1', answer: { kind: 'accept' } });

    expect(ofType(effects, 'answer_run')).toMatchObject([{ questionId: 'q1', answer: { kind: 'accept' } }]);
    expect(core.standing('A')).toBe('running');
    expect(stops(core.advance(299_999))).toEqual([]);
  });

  test('an answer to a question that is not open is dropped', () => {
    const core = asking();

    expect(
      ofType(
        core.send({ type: 'answer_given', issueId: 'A', questionId: 'old', answer: { kind: 'accept' } }),
        'answer_run',
      ),
    ).toEqual([]);
  });

  test('a run with several questions is asking until the last is answered', () => {
    const core = asking();
    core.signal('A', { type: 'asked', question: { ...QUESTION, id: 'q2' } });
    core.send({ type: 'answer_given', issueId: 'A', questionId: 'q1', answer: { kind: 'decline' } });

    expect(core.standing('A')).toBe('asking');
    core.signal('A', { type: 'question_closed', questionId: 'q2' });
    expect(core.standing('A')).toBe('running');
  });

  test('S2-63 without an answer the issue is parked with the question, and its slot is free', () => {
    const core = asking({ agent: { maxConcurrentAgents: 1 } });
    core.put('B');
    expect(stops(core.advance(600_000))).toEqual(['input_timeout']);

    core.fail('A', 'turn_input_required');
    core.poll();

    expect(core.status('A', 'parked')).toMatchObject({
      reason: 'input_required',
      question: QUESTION,
      threadId: 'thread',
    });
    expect(core.standing('B')).toBe('running');
  });

  test('on_input_timeout: decline answers no and continues', () => {
    const core = asking({ agent: { onInputTimeout: 'decline' } });

    const effects = core.advance(600_000);

    expect(ofType(effects, 'answer_run')).toMatchObject([{ questionId: 'q1', answer: { kind: 'decline' } }]);
    expect(core.standing('A')).toBe('running');
  });

  test('an answer after parking continues on the same thread', () => {
    const core = asking();
    core.advance(600_000);
    core.fail('A', 'turn_input_required');
    const answer = { kind: 'input', values: { a: 'yes' } } as const;

    core.send({ type: 'answer_given', issueId: 'A', questionId: 'q1', answer });
    core.poll();
    core.answerReads();

    expect(starts(core.effects).at(-1)).toMatchObject({
      reason: 'answer',
      resume: { threadId: 'thread', answer: { question: QUESTION, answer } },
    });
  });

  test('an answer is not lost when its run fails before the turn', () => {
    const core = asking();
    core.advance(600_000);
    core.fail('A', 'turn_input_required');
    core.send({ type: 'answer_given', issueId: 'A', questionId: 'q1', answer: { kind: 'accept' } });
    core.poll();
    core.answerReads();
    core.fail('A', 'port_exit');
    core.nowMs += 60_000;

    expect(starts(core.poll())).toMatchObject([
      { reason: 'answer', resume: { answer: { answer: { kind: 'accept' } } } },
    ]);
  });

  test('a run that cannot go on without input parks at once', () => {
    const core = working();

    core.fail('A', 'turn_input_required', { question: QUESTION });

    expect(core.status('A', 'parked')).toMatchObject({ reason: 'input_required', question: QUESTION });
  });
});

describe('people', () => {
  test('stop ends the run and parks the issue; retry brings it back', () => {
    const core = working();

    expect(stops(core.send({ type: 'stop_requested', issueId: 'A' }))).toEqual(['operator']);
    core.fail('A', 'STOPPED_BY_OPERATOR');
    expect(core.standing('A')).toBe('parked: stopped_by_operator');
    core.send({ type: 'retry_requested', issueId: 'A' });
    expect(started(core.answerRead())).toEqual(['A']);
  });

  test('an issue that a person stopped stays stopped when it leaves and becomes active again', () => {
    const core = working();
    core.change('A', { state: 'Backlog' });
    core.poll();
    core.send({ type: 'stop_requested', issueId: 'A' });
    core.change('A', { state: 'Todo' });
    core.poll();
    core.fail('A', 'STOPPED_BY_OPERATOR');
    core.poll();

    expect(core.standing('A')).toBe('parked: stopped_by_operator');
  });

  test('stop prevents an issue that has not started from starting', () => {
    const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put('A', 'B');
    core.poll();

    core.send({ type: 'stop_requested', issueId: 'B' });
    core.exit('A');

    expect(core.standing('B')).toBe('parked: stopped_by_operator');
    expect(core.state.read).toBeNull();
  });

  test('retry makes a waiting issue due at once', () => {
    const core = working();
    core.fail('A');

    core.send({ type: 'retry_requested', issueId: 'A' });

    expect(started(core.answerRead())).toEqual(['A']);
  });

  test('a message steers the run', () => {
    const core = working();

    expect(core.send({ type: 'message_given', issueId: 'A', text: 'hurry' })).toEqual([
      { type: 'steer_run', runId: core.runId('A'), text: 'hurry' },
    ]);
  });
});

describe('unkillable', () => {
  test('a run whose processes outlive SIGKILL parks its issue and keeps its slot until they are gone', () => {
    const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put({ id: 'A', priority: 1 }, 'B');
    core.poll();
    core.send({ type: 'run_unkillable', runId: core.runId('A') });
    core.change('A', { state: 'Done' });
    core.nowMs += 1_000;

    expect(core.standing('A')).toBe('parked: unkillable');
    expect(started(core.poll())).toEqual([]);
    expect(ofType(core.effects, 'remove_workspace')).toEqual([]);
    core.fail('A', 'unkillable');
    const after = [...core.answerRead(), ...core.poll()];
    expect(started(after)).toEqual(['B']);
    expect(ofType(after, 'remove_workspace')).toHaveLength(1);
  });
});

describe('shutdown', () => {
  test('stops every run, keeps the claims, and exits when everything is stored', () => {
    const core = working();

    expect(stops(core.send({ type: 'shutdown_requested' }))).toEqual(['shutdown']);
    const effects = core.fail('A', 'INTERRUPTED');

    expect(core.status('A', 'waiting')).toMatchObject({ reason: 'resumed', resume: { threadId: 'thread' } });
    expect(core.claim('A').failures).toBe(0);
    expect(ofType(effects, 'exit')).toEqual([{ type: 'exit', forced: false }]);
  });

  test('without active runs exits at once', () => {
    expect(ofType(new Core().send({ type: 'shutdown_requested' }), 'exit')).toEqual([{ type: 'exit', forced: false }]);
  });

  test('starts nothing', () => {
    const core = working({ agent: { maxConcurrentAgents: 2 } });
    core.send({ type: 'refresh_requested' });
    core.send({ type: 'shutdown_requested' });
    core.put('B');

    expect(started(core.answerPoll())).toEqual([]);
  });

  test('a claim that is not stored yet never gets a process', () => {
    const core = new Core().put('A');
    core.confirmsWrites = false;
    core.poll();
    core.send({ type: 'shutdown_requested' });

    expect(started(core.send({ type: 'persisted', seq: 1 }))).toEqual([]);
    expect(core.status('A', 'waiting').reason).toBe('first');
  });

  test('ends when its time is over, even with active runs', () => {
    const core = working({ runtime: { shutdownTimeoutMs: 30_000 } });
    core.send({ type: 'shutdown_requested' });

    expect(ofType(core.advance(29_999), 'exit')).toEqual([]);
    expect(ofType(core.advance(1), 'exit')).toEqual([{ type: 'exit', forced: true }]);
  });

  test('a second signal exits at once', () => {
    const core = working();
    core.send({ type: 'shutdown_requested' });

    expect(ofType(core.send({ type: 'shutdown_requested' }), 'exit')).toEqual([{ type: 'exit', forced: true }]);
  });

  test('a terminal issue whose run is stopping is still cleaned up', () => {
    const core = working();
    core.change('A', { state: 'Done' });
    core.poll();
    core.send({ type: 'shutdown_requested' });

    expect(ofType(core.fail('A', 'CANCELLED_BY_ORCHESTRATOR'), 'remove_workspace')).toHaveLength(1);
    expect(ofType(core.send({ type: 'workspace_removed', issueId: 'A', report: { ok: true } }), 'exit')).toHaveLength(
      1,
    );
  });
});

test('a tick with nothing due changes nothing: a stale timer does no harm', () => {
  const core = working();
  core.put('B');
  core.poll();
  core.fail('B');
  const before = core.state;

  expect(core.tick()).toEqual([]);
  expect(core.state).toEqual(before);
});
