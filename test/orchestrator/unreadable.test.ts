import { describe, expect, test } from 'vitest';
import type { ErrorCode } from '../../src/domain/errors.js';
import { Core, ofType, starts } from '../support/core.js';

const HOUR = 3_600_000;
const SECOND = 1_000;

/** Polls are answered, and every run ends like this before it has begun: what people said about its issue cannot be read. */
function playHour(core: Core, end: (issueId: string) => void, untilMs = HOUR): { runs: number; polls: number } {
  const count = () => ({ runs: starts(core.effects).length, polls: ofType(core.effects, 'poll').length });
  const before = count();
  core.tick();
  while (core.nowMs < untilMs) {
    core.advance(SECOND);
    if (core.state.poll.inFlightSeq !== null) core.answerPoll();
    core.answerReads();
    for (const issueId of Object.values(core.state.runs)) end(issueId);
  }
  const after = count();
  return { runs: after.runs - before.runs, polls: after.polls - before.polls };
}

const BOARD = ['A', 'B', 'C', 'D', 'E'];
const CODES = ['tracker_request', 'tracker_status', 'tracker_auth'] as const;

describe('an hour in which no comments can be read', () => {
  test.each(CODES)(
    'burns no failures and parks nobody: the daemon holds, and one issue at a time tries: %s',
    (code) => {
      const core = new Core().put(...BOARD);

      const { runs } = playHour(core, (id) => core.fail(id, code));

      expect(BOARD.map((id) => [core.standing(id), core.claim(id).failures])).toEqual(BOARD.map(() => ['waiting', 0]));
      expect(core.state.holds.agent?.code).toBe(code);
      // All that started before it was known, then one at 10, 20, 40 … 300 s.
      expect(runs).toBeLessThan(BOARD.length + 18);
    },
  );

  test('ends with the first readable comments: then all issues run, with unchanged numbers and reasons', () => {
    const core = new Core().put(...BOARD);
    playHour(core, (id) => core.fail(id, 'tracker_status'));
    const probe = () => Object.values(core.state.runs)[0] ?? '';
    core.nowMs += (core.state.holds.agent?.untilMs ?? 0) - core.now.wallMs;
    core.poll();

    core.signal(probe(), { type: 'phase', phase: 'agent' });
    core.usage(probe(), 'thread', 10, 5);
    core.answerReads();

    expect(BOARD.map((id) => core.standing(id))).toEqual(BOARD.map(() => 'running'));
    expect(core.latest('start_run').order).toMatchObject({ reason: 'first', attempt: null });
  });

  test('of one issue alone counts against that issue: others continue, and it is parked after its attempts', () => {
    const core = new Core().put('bad', 'good');

    playHour(core, (id) => {
      if (id === 'bad') return core.fail(id, 'tracker_status');
      core.signal(id, { type: 'phase', phase: 'agent' });
      core.usage(id, `thread-${core.nowMs}`, 1, 1);
      core.change('good', { description: String(core.nowMs) });
      return core.exit(id);
    });

    expect(core.standing('bad')).toBe('parked: too_many_failures');
    expect(core.standing('good')).not.toMatch(/parked/);
    expect(core.state.holds).toEqual({});
  });

  test('during an active run counts as a failure', () => {
    const core = new Core().put('A');
    core.poll();
    core.signal('A', { type: 'phase', phase: 'agent' });

    core.fail('A', 'tracker_request');

    expect(core.claim('A').failures).toBe(1);
    expect(core.state.holds).toEqual({});
  });
});

test('unreadable comments count against their issue at once, and hold nothing', () => {
  const core = new Core().put('A', 'B');
  core.poll();

  core.fail('A', 'tracker_response');

  expect([core.claim('A').failures, core.standing('B')]).toEqual([1, 'running']);
  expect(core.state.holds).toEqual({});
});

describe('an hour in which the tracker refuses the comments', () => {
  test.each<[ErrorCode, number]>([
    ['tracker_rate_limited', 60],
    ['tracker_rate_limited', 600],
  ])('because of a limit costs one run per issue and reset, and no failure: %s, %i s', (code, resetS) => {
    const core = new Core().put(...BOARD);

    const { runs } = playHour(core, (id) => core.fail(id, code, { resetAtMs: core.now.wallMs + resetS * SECOND }));

    expect(runs).toBeLessThanOrEqual(BOARD.length * (HOUR / SECOND / resetS + 1));
    expect(BOARD.map((id) => [core.standing(id), core.claim(id).failures])).toEqual(BOARD.map(() => ['waiting', 0]));
    expect(core.state.holds).toEqual({});
  });

  test.each([
    ['now', 0],
    ['an hour ago', -HOUR],
  ])('with a reset that is over makes no hot loop: %s', (_, awayMs) => {
    const core = new Core().put('A');

    const { runs, polls } = playHour(core, (id) =>
      core.fail(id, 'tracker_rate_limited', { resetAtMs: core.now.wallMs + awayMs }),
    );

    expect(runs).toBeLessThanOrEqual(30);
    expect(runs).toBeGreaterThan(10);
    expect(polls).toBeLessThanOrEqual(361);
  });

  test('holds on when polls succeed again, because polls do not prove that comments can be read', () => {
    const core = new Core().put('A');
    core.poll();
    core.fail('A', 'tracker_auth');
    core.advance(30_000);
    core.answerPoll({ candidates: { ok: false, code: 'tracker_auth', message: 'no' } });

    core.advance(30_000);
    core.answerPoll();

    expect(core.state.holds).toMatchObject({ agent: { code: 'tracker_auth' } });
    expect(core.claim('A').failedAsProbe).toBe(false);
  });

  test('of one issue alone leaves the only slot to the others', () => {
    const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put('A', 'B');
    const ran = new Set<string>();

    playHour(core, (id) => {
      ran.add(id);
      if (id === 'A') core.fail(id, 'tracker_rate_limited', { resetAtMs: core.now.wallMs + 60 * SECOND });
    });

    expect([...ran]).toEqual(['A', 'B']);
  });

  test('to a resumed run does not count against its issue, because the run had not begun', () => {
    const core = new Core().put('A');
    core.poll();
    core.signal('A', { type: 'phase', phase: 'agent' });
    core.signal('A', { type: 'session', threadId: 't', turnId: 'u', turn: 1 });
    core.fail('A', 'tracker_rate_limited', { resetAtMs: core.now.wallMs + 10_000 });
    core.nowMs += 15_000;
    core.poll();
    core.send({ type: 'refresh_requested' });
    const refused = { ok: false, code: 'tracker_auth', message: 'no' } as const;
    core.answerPoll({ candidates: refused, refresh: refused });
    core.fail('A', 'tracker_auth');

    core.nowMs += 60_000;
    core.poll();

    expect(core.claim('A').failedAsProbe).toBe(false);
  });
});
