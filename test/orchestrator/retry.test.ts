import { describe, expect, test } from 'vitest';
import { backoffMs, continuationMs } from '../../orchestrator/backoff.js';
import { Core, ofType, started, starts } from '../support/core.js';

describe('backoff', () => {
  test('S2-71 min(10 s · 2^(n−1), cap), plus up to 10 % that depends only on the seed', () => {
    for (const [failures, plain] of [
      [1, 10_000],
      [2, 20_000],
      [5, 160_000],
      [6, 300_000],
      [60, 300_000],
    ] as const) {
      const delay = backoffMs(failures, 300_000, `seed-${failures}`);
      expect(delay).toBeGreaterThanOrEqual(plain);
      expect(delay).toBeLessThanOrEqual(plain * 1.1);
      expect(backoffMs(failures, 300_000, `seed-${failures}`)).toBe(delay);
    }
    const delays = new Set(Array.from({ length: 50 }, (_, n) => backoffMs(1, 300_000, `issue-${n}`)));
    expect(delays.size).toBeGreaterThan(40);
  });

  test('a continuation waits 1 s, doubled for every idle run, up to the cap', () => {
    expect([0, 1, 2, 20].map((idle) => continuationMs(idle, 300_000))).toEqual([1_000, 2_000, 4_000, 300_000]);
  });
});

describe('a failed run', () => {
  test('S2-02 is retried when its backoff is over, not before', () => {
    const core = new Core().put('A');
    core.poll();
    core.fail('A', 'port_exit');
    const { dueAtMs, error } = core.status('A', 'waiting');
    const delay = dueAtMs - core.now.wallMs;

    expect(delay).toBeGreaterThanOrEqual(10_000);
    expect(delay).toBeLessThanOrEqual(11_000);
    expect(error?.code).toBe('port_exit');
    expect(ofType(core.advance(delay - 1), 'read_issues')).toEqual([]);
    expect(ofType(core.advance(1), 'read_issues')).toHaveLength(1);
    expect(starts(core.answerRead())).toMatchObject([{ number: 2, attempt: 1, reason: 'retry', resume: null }]);
  });

  test('the number counts runs for ever, attempt counts consecutive failures', () => {
    const core = new Core().put('A');
    const seen: (number | null)[][] = [];
    seen.push(...starts(core.poll()).map((order) => [order.number, order.attempt]));
    for (let i = 0; i < 3; i++) {
      core.fail('A');
      core.nowMs += 400_000;
      seen.push(...starts(core.poll()).map((order) => [order.number, order.attempt]));
    }
    core.change('A', { title: 'changed' });
    core.exit('A');
    core.nowMs += 1_000;
    seen.push(...starts(core.poll()).map((order) => [order.number, order.attempt]));

    expect(seen).toEqual([
      [1, null],
      [2, 1],
      [3, 2],
      [4, 3],
      [5, 1],
    ]);
    expect(core.claim('A').failures).toBe(0);
  });

  test('the number continues after the claim was released', () => {
    const core = new Core().put('A');
    core.poll();
    core.change('A', { state: 'Backlog' });
    core.poll();
    core.exit('A');
    core.change('A', { state: 'Todo' });

    expect(starts(core.poll())).toMatchObject([{ number: 2, attempt: null, reason: 'first' }]);
  });

  test('after agent.max_attempts failures in a row the issue is parked, with its claim', () => {
    const core = new Core({ agent: { maxAttempts: 3 } }).put('A');
    for (let i = 0; i < 3; i++) {
      core.nowMs += 400_000;
      expect(started(core.poll())).toEqual(['A']);
      core.fail('A');
    }

    expect(core.standing('A')).toBe('parked: too_many_failures');
    core.nowMs += 10_000_000;
    expect(started(core.poll())).toEqual([]);
  });

  test('agent.max_attempts 0 never parks', () => {
    const core = new Core({ agent: { maxAttempts: 0 } }).put('A');
    for (let i = 0; i < 30; i++) {
      core.nowMs += 400_000;
      core.poll();
      core.fail('A');
    }

    expect(core.standing('A')).toBe('waiting');
  });

  test.each([
    ['gone', (core: Core) => void core.board.delete('A'), 0],
    ['terminal', (core: Core) => void core.change('A', { state: 'Done' }), 1],
    ['not active', (core: Core) => void core.change('A', { state: 'Backlog' }), 0],
  ])('whose issue is found %s when the retry is due is given up', (_, meddle, removals) => {
    const core = new Core().put('A');
    core.poll();
    core.fail('A');
    meddle(core);
    core.advance(12_000);

    const effects = core.answerRead();

    expect(core.standing('A')).toBe('unclaimed');
    expect(ofType(effects, 'remove_workspace')).toHaveLength(removals);
  });

  test('that is due without a free slot reports it and stays first in line', () => {
    const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put(
      { id: 'A', priority: 2 },
      { id: 'B', priority: 1 },
    );
    core.poll();
    core.fail('B');
    core.answerRead();
    expect(core.standing('A')).toBe('running');
    core.nowMs += 20_000;
    core.poll();

    expect(core.status('B', 'waiting').error).toEqual({ code: 'no_slot', message: 'no available orchestrator slots' });
    expect(core.claim('B').failures).toBe(1);
    core.exit('A');
    expect(started(core.answerRead())).toEqual(['B']);
  });
});

describe('a normal exit', () => {
  test('S2-72 leads to a continuation after 1 s, with attempt 1', () => {
    const core = new Core().put('A');
    core.poll();
    core.change('A', { state: 'In Progress' });

    const effects = core.finish('A');

    expect(starts(effects)).toMatchObject([{ number: 2, attempt: 1, reason: 'continuation' }]);
  });

  test('an issue on which the agent only comments is parked after doubling delays', () => {
    const core = new Core({ agent: { maxRunsWithoutProgress: 3 } }).put('A');
    core.poll();
    const waits: number[] = [];
    for (let i = 0; i < 2; i++) {
      core.change('A', { comments: [{ author: 'agent', body: `${i}`, created_at: null }], updated_at: `${i}` });
      core.finish('A');
      waits.push(core.status('A', 'waiting').dueAtMs - core.status('A', 'waiting').sinceMs);
      core.nowMs += 60_000;
      expect(started(core.poll())).toEqual(['A']);
    }
    core.finish('A');

    expect(waits).toEqual([2_000, 4_000]);
    expect(core.standing('A')).toBe('parked: no_progress');
  });

  test('a change that becomes visible later ends the longer wait and counts as progress', () => {
    const core = new Core().put('A');
    core.poll();
    core.finish('A');
    core.nowMs += 60_000;
    core.poll();
    core.finish('A');
    expect(core.claim('A').idleRuns).toBe(2);
    core.change('A', { labels: ['reviewed'] });

    expect(started(core.poll())).toEqual(['A']);
    expect(core.claim('A').idleRuns).toBe(0);
  });

  test('a read ordered before the exit does not decide whether the run changed the issue', () => {
    const core = new Core().put('A');
    core.poll();
    core.send({ type: 'refresh_requested' });
    const before = core.readBoard(['A']);
    core.change('A', { state: 'In Progress' });
    core.exit('A');
    core.nowMs += 5_000;

    core.answerPoll({ refresh: before });
    core.answerRead();

    expect(core.claim('A').idleRuns).toBe(0);
    expect(core.standing('A')).toBe('running');
  });

  test('agent.max_runs_without_progress 0 never parks', () => {
    const core = new Core({ agent: { maxRunsWithoutProgress: 0 } }).put('A');
    for (let i = 0; i < 20; i++) {
      core.nowMs += 400_000;
      core.poll();
      core.finish('A');
    }

    expect(core.standing('A')).toBe('waiting');
  });
});

describe('a parked issue', () => {
  const parked = () => {
    const core = new Core({ agent: { maxAttempts: 1 } }).put('A');
    core.poll();
    core.fail('A');
    expect(core.standing('A')).toBe('parked: too_many_failures');
    return core;
  };

  test('continues when the issue changes, with its counts reset', () => {
    const core = parked();
    core.change('A', { description: 'clearer now' });

    expect(starts(core.poll())).toMatchObject([{ reason: 'retry', number: 2 }]);
    expect(core.claim('A').failures).toBe(0);
  });

  test('does not continue because of a comment', () => {
    const core = parked();
    core.change('A', { comments: [{ author: 'x', body: 'y', created_at: null }], updated_at: 'now' });

    expect(started(core.poll())).toEqual([]);
  });

  test('continues when a person requests a retry', () => {
    const core = parked();
    core.send({ type: 'retry_requested', issueId: 'A' });

    expect(started(core.answerRead())).toEqual(['A']);
  });

  test('is released by a changed workflow only when it was parked for configuration', () => {
    const core = parked();

    core.send({ type: 'config_changed', config: core.state.config, workflowHash: 'hash-2' });

    expect(core.standing('A')).toBe('parked: too_many_failures');
  });

  test('is released and cleaned up when it becomes terminal', () => {
    const core = parked();
    core.change('A', { state: 'Done' });

    expect(ofType(core.poll(), 'remove_workspace')).toHaveLength(1);
    expect(core.standing('A')).toBe('unclaimed');
  });
});

describe('a clock that is set back', () => {
  test('does not turn a wait of seconds into hours', () => {
    const core = new Core().put('A');
    core.nowMs = 7_200_000;
    core.poll();
    core.fail('A');
    const delay = core.status('A', 'waiting').dueAtMs - core.now.wallMs;

    core.nowMs -= 3_600_000;
    core.send({ type: 'clock_set_back', byMs: 3_600_000 });

    expect(core.status('A', 'waiting').dueAtMs - core.now.wallMs).toBe(delay);
    expect(core.state.poll.nextAtMs - core.now.wallMs).toBe(30_000);
  });
});

test('an issue that another daemon runs waits without a limit, and this is no failure', () => {
  const core = new Core({ agent: { maxAttempts: 2, maxRetryBackoffMs: 60_000 } }).put('A');
  core.poll();
  for (let times = 0; times < 5; times++) {
    core.fail('A', 'issue_taken');
    expect(core.status('A', 'waiting')).toMatchObject({
      reason: 'first',
      attempt: null,
      error: { code: 'issue_taken' },
    });
    expect(core.claim('A').failures).toBe(0);
    core.nowMs += 59_999;
    expect(started(core.poll())).toEqual([]);
    core.nowMs += 1;
    expect(started(core.poll())).toEqual(['A']);
  }
});
