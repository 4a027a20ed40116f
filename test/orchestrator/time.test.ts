import { describe, expect, test } from 'vitest';
import { Core, ofType, started, starts, stops } from '../support/core.js';

const HOUR = 3_600_000;

describe('a clock that is set back', () => {
  test('moves the probe of a hold with it', () => {
    const core = new Core().put('A');
    core.nowMs = 2 * HOUR;
    core.poll();
    core.fail('A', 'agent_quota');
    const delay = (core.state.holds.agent?.untilMs ?? 0) - core.now.wallMs;

    core.nowMs -= HOUR;
    core.send({ type: 'clock_set_back', byMs: HOUR });

    expect((core.state.holds.agent?.untilMs ?? 0) - core.now.wallMs).toBe(delay);
  });

  test('does not make the last good poll look fresh for an hour', () => {
    const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put('A', 'B');
    core.nowMs = 2 * HOUR;
    core.poll();
    core.nowMs -= HOUR;
    core.send({ type: 'clock_set_back', byMs: HOUR });
    core.nowMs += 60_001;

    expect(ofType(core.fail('A'), 'read_issues')).toEqual([]);
  });
});

describe('the budget of the day', () => {
  const spent = () => {
    const core = new Core({ agent: { maxTokensPerDay: 500 } }).put('A');
    core.poll();
    core.usage('A', 'thread', 500);
    core.fail('A', 'INTERRUPTED');
    expect(core.state.holds.budget?.code).toBe('budget_exceeded');
    return core;
  };

  test('is back at once when the cap is raised or dropped', () => {
    for (const maxTokensPerDay of [1_000, null]) {
      const core = spent();
      const config = { ...core.state.config, agent: { ...core.state.config.agent, maxTokensPerDay } };

      core.send({ type: 'config_changed', config, workflowHash: 'hash-2' });

      expect(core.state.holds).toEqual({});
    }
  });

  test('is logged once, even while stopping runs still report tokens', () => {
    const core = new Core({ agent: { maxTokensPerDay: 500 } }).put('A', 'B');
    core.poll();
    core.usage('A', 'thread-a', 500);
    const { budget } = core.state.holds;
    core.nowMs += 1_000;

    core.usage('B', 'thread-b', 500);

    expect(core.state.holds.budget).toEqual(budget);
  });

  test('starts every day at zero', () => {
    const core = spent();
    core.nowMs = 24 * HOUR;
    core.poll();

    core.usage('A', 'thread', 600);

    expect(core.state.ledger[core.now.day]).toMatchObject({ tokens: 100 });
    expect(core.state.holds).toEqual({});
  });
});

describe('a tracker that limits our requests', () => {
  test('with a successful answer that uses up the quota: no slot is filled before its reset', () => {
    const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put('A', 'B');
    core.rateLimit = { remaining: 0, resetAtMs: core.now.wallMs + 50_000 };
    core.poll();
    core.rateLimit = undefined;

    expect(started(core.effects)).toEqual([]);
    core.nowMs = 50_000;
    expect(started(core.poll())).toEqual(['A']);
  });

  test('may report it in the refresh as well', () => {
    const core = new Core().put('A');
    core.poll();
    core.send({ type: 'refresh_requested' });
    const rateLimit = { remaining: 50, resetAtMs: core.now.wallMs + HOUR };
    const issues = [...core.board.values()];

    core.answerPoll({ refresh: { ok: true, issues, unknown: [], rateLimit } });

    expect(core.state.poll.rateLimit).toEqual(rateLimit);
  });

  test('that recovers is logged once', () => {
    const core = new Core();
    core.tick();
    core.answerPoll({ candidates: { ok: false, code: 'tracker_request', message: 'down' } });
    core.poll();
    core.poll();

    const messages = ofType(core.effects, 'note').map((effect) => effect.note.message);
    expect(messages).toEqual(['tracker cannot be read', 'tracker can be read again']);
  });
});

describe('a due retry', () => {
  test('that the tracker reports as unknown is read again an interval later, and keeps its place', () => {
    const core = new Core().put('A');
    core.poll();
    core.fail('A');
    core.unknown.add('A');
    core.advance(11_000);

    const effects = core.answerRead();

    expect(ofType(effects, 'read_issues')).toEqual([]);
    expect(core.status('A', 'waiting').dueAtMs - core.now.wallMs).toBe(30_000);
    expect(core.claim('A').failures).toBe(1);
    core.unknown.delete('A');
    core.nowMs += 30_000;
    expect(starts(core.poll())).toMatchObject([{ attempt: 1, reason: 'retry' }]);
  });
});

describe('a hold', () => {
  test('whose reset is already past is probed at backoff', () => {
    const core = new Core().put('A');
    core.nowMs = HOUR;
    core.poll();

    core.fail('A', 'agent_quota', { resetAtMs: core.now.wallMs - 1 });

    expect((core.state.holds.agent?.untilMs ?? 0) - core.now.wallMs).toBeGreaterThanOrEqual(10_000);
  });

  const probed = () => {
    const core = new Core().put('A');
    core.poll();
    core.fail('A', 'agent_quota');
    core.nowMs += 12_000;
    core.poll();
    return core;
  };

  test('is not lifted by tokens without model output', () => {
    const core = probed();

    core.usage('A', 'thread', 100, 0);

    expect(core.state.holds.agent?.code).toBe('agent_quota');
  });

  test('is lifted by a successful probe, even without tokens', () => {
    const core = probed();

    core.exit('A');

    expect(core.state.holds).toEqual({});
  });

  test('waits again after an inconclusive probe', () => {
    const core = new Core().put('A', 'B');
    core.poll();
    core.fail('A', 'agent_quota');
    core.fail('B', 'agent_quota');
    core.nowMs += 12_000;
    core.poll();
    const probe = Object.values(core.state.runs)[0] ?? '';

    core.fail(probe, 'hook_failed');

    expect(started([...core.answerReads(), ...core.poll()])).toEqual([]);
    expect((core.state.holds.agent?.untilMs ?? 0) - core.now.wallMs).toBeGreaterThanOrEqual(10_000);
  });
});

describe('silence', () => {
  const question = { id: 'q1', kind: 'approval', text: '?', fields: [] } as const;
  const asking = () => {
    const core = new Core().put('A');
    core.poll();
    core.signal('A', { type: 'phase', phase: 'agent' });
    core.signal('A', { type: 'asked', question });
    return core;
  };

  test('begins with the agent phase, however long the hooks took', () => {
    const core = new Core().put('A');
    core.poll();
    core.advance(299_000);
    core.signal('A', { type: 'phase', phase: 'agent' });

    expect(stops(core.advance(299_999))).toEqual([]);
    expect(stops(core.advance(1))).toEqual(['stalled']);
  });

  test('restarts when a question is closed', () => {
    const core = asking();
    core.advance(500_000);
    core.signal('A', { type: 'question_closed', questionId: 'q1' });

    expect(stops(core.advance(299_999))).toEqual([]);
    expect(stops(core.advance(1))).toEqual(['stalled']);
  });

  test('of a person: a later question does not extend the time', () => {
    const core = asking();
    core.advance(500_000);
    core.signal('A', { type: 'asked', question: { ...question, id: 'q2' } });

    expect(stops(core.advance(100_000))).toEqual(['input_timeout']);
  });

  test('of a person: a repeated question is one question', () => {
    const core = asking();
    core.signal('A', { type: 'asked', question });

    core.signal('A', { type: 'question_closed', questionId: 'q1' });

    expect(core.standing('A')).toBe('running');
    expect(ofType(core.effects, 'note').filter(({ note }) => note.message === 'run asks a person')).toHaveLength(1);
  });
});
