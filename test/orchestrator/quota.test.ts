import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cadenceMs, combineLimits } from '../../orchestrator/poll.js';
import { config } from '../support/builders.js';
import { Core, ofType, started, starts } from '../support/core.js';
import { at } from '../support/fake-clock.js';

const HOUR = 3_600_000;

describe('the pace of polls', () => {
  const now = { ...new Core().now, wallMs: 1_000 };
  const limit = (remaining: number, cost?: number) => ({
    remaining,
    resetAtMs: 1_000 + HOUR,
    ...(cost === undefined ? {} : { cost }),
  });

  test.each([
    [limit(5_000, 2), 30_000],
    [limit(5_000, 0), 30_000],
    [limit(5_000, 100), 144_000],
    [limit(100, 5), 360_000],
    [limit(25, 5), 1_800_000],
    [limit(3, 5), HOUR],
    [limit(0, 0), HOUR],
    [{ remaining: 0, resetAtMs: 500, cost: 9 }, 30_000],
  ])('with %j left a poll comes every %i ms: half of the quota is for the runs', (rateLimit, expected) => {
    expect(cadenceMs(30_000, rateLimit, now)).toBe(expected);
  });

  const quotas = fc.record({
    remaining: fc.nat(),
    resetAtMs: fc.integer({ min: 0, max: 1_000 + 24 * HOUR }),
    cost: fc.option(fc.nat(10_000), { nil: undefined }),
  });
  const intervals = fc.integer({ min: 1, max: HOUR });

  test('is never faster than configured, never slower than the reset, and always an integer', () => {
    fc.assert(
      fc.property(quotas, intervals, ({ cost, ...rest }, intervalMs) => {
        const paceMs = cadenceMs(intervalMs, cost === undefined ? rest : { ...rest, cost }, now);

        expect(Number.isSafeInteger(paceMs)).toBe(true);
        expect(paceMs).toBeGreaterThanOrEqual(intervalMs);
        expect(paceMs).toBeLessThanOrEqual(Math.max(intervalMs, rest.resetAtMs - now.wallMs));
      }),
    );
  });

  test('leaves half of the remaining quota to runs: polls cannot use it up before the reset', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5_000 }), fc.integer({ min: 1, max: 100 }), (remaining, cost) => {
        const paceMs = cadenceMs(1_000, limit(remaining, cost), now);

        const pollsUntilReset = Math.ceil(HOUR / paceMs) - 1;
        expect(pollsUntilReset * cost).toBeLessThanOrEqual(remaining / 2);
      }),
    );
  });

  test('is no faster with less left', () => {
    fc.assert(
      fc.property(fc.nat(10_000), fc.nat(10_000), fc.nat(50), (one, other, cost) => {
        const [less, more] = one < other ? [one, other] : [other, one];

        const paces = [less, more].map((remaining) => cadenceMs(30_000, limit(remaining, cost), now));

        expect(paces[0]).toBeGreaterThanOrEqual(paces[1] ?? 0);
      }),
    );
  });

  test('two reads of a poll add up their cost, and the scarcer quota counts', () => {
    expect(combineLimits(limit(40, 2), limit(30, 3))).toEqual(limit(30, 5));
    expect(combineLimits(null, limit(30, 3))).toEqual(limit(30, 3));
    expect(combineLimits(null, null)).toBeNull();
  });
});

describe('a quota that runs low', () => {
  const slowed = () => {
    const core = new Core().put('A');
    core.rateLimit = { remaining: 50, resetAtMs: core.now.wallMs + HOUR };
    core.poll();
    return core;
  };

  test('is logged once, and so is its end', () => {
    const core = slowed();
    const notes = () => core.effects.filter((effect) => effect.type === 'note').map(({ note }) => note.message);

    core.nowMs += 360_000;
    core.poll();
    core.rateLimit = undefined;
    core.nowMs += 720_000;
    core.poll();

    expect(notes().filter((message) => message.startsWith('polling more slowly'))).toHaveLength(1);
    expect(notes().filter((message) => message === 'polling at the usual pace again')).toHaveLength(1);
    expect(core.state.poll.slowMs).toBeNull();
  });

  test('an announced change waits for the next poll until the quota is sufficient', () => {
    const core = slowed();

    expect(ofType(core.send({ type: 'change_announced' }), 'poll')).toEqual([]);
    core.rateLimit = undefined;
    core.nowMs += 360_000;
    core.poll();
    expect(ofType(core.send({ type: 'change_announced' }), 'poll')).toHaveLength(1);
  });

  test('a change announced during the poll that found the quota low waits as well; a person does not', () => {
    const asking = (event: 'change_announced' | 'refresh_requested') => {
      const core = new Core().put('A');
      core.poll();
      core.send({ type: 'refresh_requested' });
      core.send({ type: event });
      core.rateLimit = { remaining: 3, resetAtMs: core.now.wallMs + HOUR };
      return ofType(core.answerPoll(), 'poll');
    };

    expect(asking('change_announced')).toEqual([]);
    expect(asking('refresh_requested')).toHaveLength(1);
  });

  test('a slot freed between slow polls is filled', () => {
    const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put('A', 'B');
    core.rateLimit = { remaining: 50, resetAtMs: core.now.wallMs + HOUR };
    core.poll();
    core.advance(200_000);

    core.exit('A');

    expect(started(core.answerReads())).toEqual(['B']);
  });
});

describe('a tracker that rejects requests until a reset', () => {
  const LIMITED = (core: Core, ms: number) =>
    ({ ok: false, code: 'tracker_rate_limited', message: 'later', resetAtMs: core.now.wallMs + ms }) as const;
  const DOWN = { ok: false, code: 'tracker_request', message: 'down' } as const;

  test.each(['refresh', 'candidates'] as const)(
    'is not asked before, whatever the other read failed with: %s',
    (which) => {
      const core = new Core().put('A');
      core.poll();
      core.send({ type: 'refresh_requested' });
      const other = which === 'refresh' ? 'candidates' : 'refresh';

      core.answerPoll({ [which]: LIMITED(core, 90_000), [other]: DOWN });

      expect(core.state.poll.failure?.code).toBe('tracker_rate_limited');
      expect(ofType(core.advance(89_000), 'poll')).toEqual([]);
      expect(ofType(core.advance(1_000), 'poll')).toHaveLength(1);
    },
  );

  test('the later of two resets counts', () => {
    const core = new Core().put('A');
    core.poll();
    core.send({ type: 'refresh_requested' });

    core.answerPoll({ refresh: LIMITED(core, 90_000), candidates: LIMITED(core, 200_000) });

    expect(ofType(core.advance(199_000), 'poll')).toEqual([]);
  });

  test('a rejected token is not hidden by a read that failed for another reason', () => {
    const core = new Core().put('A');
    core.poll();
    core.send({ type: 'refresh_requested' });

    core.answerPoll({ refresh: DOWN, candidates: { ok: false, code: 'tracker_auth', message: 'no' } });

    expect(core.state.holds.tracker?.code).toBe('tracker_auth');
  });

  test.each([90_000, 20_000])('a change announced during the request waits as well: %i ms', (limitMs) => {
    const core = new Core().put('A');
    core.poll();
    core.send({ type: 'refresh_requested' });
    core.send({ type: 'change_announced' });

    const effects = core.answerPoll({ candidates: LIMITED(core, limitMs) });

    expect(ofType(effects, 'poll')).toEqual([]);
    expect(ofType(core.advance(limitMs - 1_000), 'poll')).toEqual([]);
  });

  test('a changed workflow does not poll earlier', () => {
    const core = new Core().put('A');
    core.poll();
    core.send({ type: 'refresh_requested' });
    core.answerPoll({ candidates: LIMITED(core, 90_000) });

    core.send({ type: 'config_changed', config: config({ polling: { intervalMs: 5_000 } }), workflowHash: 'hash-2' });

    expect(ofType(core.advance(89_000), 'poll')).toEqual([]);
    expect(ofType(core.advance(1_000), 'poll')).toHaveLength(1);
  });

  test('is not polled early when the limit is known before the first poll', () => {
    const core = new Core().put('A');

    core.send({ type: 'started', leftovers: [], limitedUntilMs: core.now.wallMs + 90_000 });

    expect(ofType(core.advance(89_000), 'poll')).toEqual([]);
    expect(ofType(core.advance(1_000), 'poll')).toHaveLength(1);
  });

  test('a clock that is set back moves the reset with it', () => {
    const core = new Core().put('A');
    core.nowMs = 7 * HOUR;
    core.poll();
    core.send({ type: 'refresh_requested' });
    core.answerPoll({ candidates: LIMITED(core, 60_000) });
    core.nowMs -= 6 * HOUR;
    core.send({ type: 'clock_set_back', byMs: 6 * HOUR });

    core.advance(61_000);
    core.answerPoll({ candidates: DOWN });

    expect(ofType(core.advance(31_000), 'poll')).toHaveLength(1);
  });

  test('polls wait when the tracker rejected the read before a start', () => {
    const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put('A', 'B');
    core.poll();
    core.exit('A');

    core.answerRead(LIMITED(core, 90_000));

    expect(ofType(core.advance(89_000), 'poll')).toEqual([]);
    expect(ofType(core.advance(1_000), 'poll')).toHaveLength(1);
  });
});

describe('a run that hits the tracker’s rate limit', () => {
  const limited = (threadId: string | null) => {
    const core = new Core().put('A', 'B');
    core.poll();
    if (threadId !== null) core.signal('A', { type: 'session', threadId, turnId: 'u', turn: 1 });
    const resetAtMs = core.now.wallMs + 90_000;
    core.fail('A', 'tracker_rate_limited', { resetAtMs });
    return core;
  };

  test('is no failure of its issue, and nothing is polled or started before the reset', () => {
    const core = limited(null);

    const before = core.advance(89_000);

    expect(core.claim('A').failures).toBe(0);
    expect(core.status('A', 'waiting')).toMatchObject({ reason: 'first', error: { code: 'tracker_rate_limited' } });
    expect([...ofType(before, 'poll'), ...ofType(before, 'read_issues'), ...starts(before)]).toEqual([]);
  });

  test('resumes its thread after the reset, and other runs continue', () => {
    const core = limited('thread');
    core.advance(90_000);

    const effects = core.answerPoll();

    expect(core.standing('B')).toBe('running');
    const commentsReadAtMs = at(0).wallMs;
    expect(starts(effects)).toMatchObject([{ reason: 'resumed', resume: { threadId: 'thread', commentsReadAtMs } }]);
  });
});

test('a run that is rejected after each turn waits longer each time, and never counts as failed', () => {
  const core = new Core().put('A');
  core.poll();
  const waits: number[] = [];
  for (let n = 0; n < 8; n++) {
    core.signal('A', { type: 'session', threadId: 'thread', turnId: `u${n}`, turn: 1 });
    core.fail('A', 'tracker_rate_limited', { resetAtMs: core.now.wallMs });
    const { dueAtMs } = core.status('A', 'waiting');
    waits.push(Math.floor((dueAtMs - core.now.wallMs) / 10_000));
    core.nowMs += dueAtMs - core.now.wallMs;
    core.poll();
  }

  // With up to a tenth on top.
  expect(waits.slice(0, 4)).toEqual([1, 2, 4, 8]);
  expect(waits.at(-1)).toBeGreaterThanOrEqual(30);
  expect([core.standing('A'), core.claim('A').failures]).toEqual(['running', 0]);
});

describe('a rate limit that a run hits while a poll is in flight', () => {
  const polling = () => {
    const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put('A', 'B');
    core.poll();
    core.send({ type: 'refresh_requested' });
    core.fail('A', 'tracker_rate_limited', { resetAtMs: core.now.wallMs + 90_000 });
    return core;
  };

  test.each([
    ['says nothing of a quota', undefined],
    ['has plenty left in another one', { remaining: 4_000, resetAtMs: Number.MAX_SAFE_INTEGER }],
  ])('is not lifted by its answer, which %s', (_, rateLimit) => {
    const core = polling();
    core.rateLimit = rateLimit;

    const effects = [...core.answerPoll(), ...core.advance(89_000)];

    expect([...ofType(effects, 'poll'), ...ofType(effects, 'read_issues'), ...starts(effects)]).toEqual([]);
    expect(ofType(core.advance(1_000), 'poll')).toHaveLength(1);
  });

  test('is lifted by the answer to a poll that a person requests later', () => {
    const core = polling();
    core.answerPoll();

    core.send({ type: 'refresh_requested' });

    expect(started(core.answerPoll())).toHaveLength(1);
    expect(core.state.poll.slowMs).toBeNull();
  });

  test('is not shortened by another run with an earlier reset', () => {
    const core = new Core().put('A', 'B');
    core.poll();
    core.fail('A', 'tracker_rate_limited', { resetAtMs: core.now.wallMs + 90_000 });
    core.fail('B', 'tracker_rate_limited', { resetAtMs: core.now.wallMs + 20_000 });

    const effects = core.advance(89_000);

    expect([...ofType(effects, 'poll'), ...ofType(effects, 'read_issues'), ...starts(effects)]).toEqual([]);
  });
});

describe('an active run whose token is rejected while polls succeed', () => {
  const refuse = (core: Core) => {
    core.signal('A', { type: 'session', threadId: 'thread', turnId: 'u', turn: 1 });
    core.signal('A', { type: 'phase', phase: 'agent' });
    core.fail('A', 'tracker_auth');
  };

  test('holds once, and counts as a failure of its issue from then on', () => {
    const core = new Core().put('A');
    core.poll();
    refuse(core);
    const failures = [core.claim('A').failures];
    core.poll();

    refuse(core);

    expect([...failures, core.claim('A').failures]).toEqual([0, 1]);
    expect(core.state.holds).toEqual({});
  });

  test('is treated normally again after a successful run', () => {
    const core = new Core().put('A');
    core.poll();
    refuse(core);
    core.poll();

    core.exit('A');

    expect(core.claim('A').failedAsProbe).toBe(false);
  });
});
