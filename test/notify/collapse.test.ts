import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  BURST_LIMIT,
  BURST_WINDOW_MS,
  type Collapse,
  collapse,
  collapseEnd,
  NOTHING_COLLAPSED,
  REPEAT_WINDOW_MS,
} from '../../src/notify/collapse.js';
import type { Notice, Told } from '../../src/notify/notice.js';
import { asking, done, hold, parked, report } from './samples.js';

/** Notices at their times, in order; what is told, and when. */
function play(given: readonly (readonly [number, Notice])[], untilMs = Number.POSITIVE_INFINITY) {
  const told: (Told & { readonly ms: number })[] = [];
  let state: Collapse = NOTHING_COLLAPSED;
  let wakeMs: number | null = null;
  const step = (ms: number, notices: readonly Notice[]) => {
    const result = collapse(state, notices, ms);
    state = result.state;
    wakeMs = result.wakeMs;
    told.push(...result.told.map((one) => ({ ...one, ms })));
  };
  const wakeUntil = (ms: number) => {
    while (wakeMs !== null && wakeMs <= ms) step(wakeMs, []);
  };
  for (const [ms, notice] of given) {
    wakeUntil(ms);
    step(ms, [notice]);
  }
  wakeUntil(untilMs);
  return { told, state, wakeMs };
}

describe('repeats', () => {
  test('the same within ten minutes is held back, and told as one when the time is over', () => {
    const { told } = play([
      [0, parked('A')],
      [60_000, parked('A')],
      [120_000, parked('A')],
    ]);

    expect(told).toMatchObject([
      { ms: 0, repeated: 0 },
      { ms: REPEAT_WINDOW_MS, repeated: 2, notice: { kind: 'parked' } },
    ]);
  });

  test('after ten minutes it is news again; another issue, reason or code always is', () => {
    const { told } = play([
      [0, parked('A')],
      [1, parked('B')],
      [2, parked('A', 'budget')],
      [3, hold('begun', 'agent_unauthorized')],
      [4, hold('begun', 'codex_not_found')],
      [REPEAT_WINDOW_MS, parked('A')],
    ]);

    expect(told.map(({ ms, repeated }) => [ms, repeated])).toEqual([
      [0, 0],
      [1, 0],
      [2, 0],
      [3, 0],
      [4, 0],
      [REPEAT_WINDOW_MS, 0],
    ]);
  });

  test('every question is told at once: each wants its own answer', () => {
    const { told } = play([
      [0, asking('A', 'q1')],
      [1, asking('A', 'q2')],
      [2, asking('A', 'q3')],
    ]);

    expect(told.map(({ ms }) => ms)).toEqual([0, 1, 2]);
  });

  test('the newest word about an issue or a hold is the last one told', () => {
    const flapping = play([
      [0, hold('begun')],
      [1_000, hold('over')],
      [2_000, hold('begun')],
      [3_000, hold('over')],
      [4_000, hold('begun')],
    ]);
    const finished = play([
      [0, parked('A')],
      [1_000, parked('A')],
      [2_000, done('A')],
    ]);

    expect(flapping.told.at(-1)).toMatchObject({ repeated: 3, notice: { event: 'begun' } });
    expect(finished.told.map(({ ms, notice, repeated }) => [ms, notice.kind, repeated])).toEqual([
      [0, 'parked', 0],
      [2_000, 'parked', 1],
      [2_000, 'done', 0],
    ]);
  });

  test('reports are never held back', () => {
    const { told } = play([
      [0, report()],
      [1, report()],
    ]);

    expect(told).toHaveLength(2);
  });

  test('a daemon that ends tells what is held back', () => {
    const { state } = play(
      [
        [0, parked('A')],
        [1, parked('A')],
      ],
      2,
    );

    expect(collapseEnd(state)).toMatchObject([{ repeated: 1, notice: { kind: 'parked' } }]);
  });
});

describe('bursts', () => {
  const many = (count: number, kind: (id: string) => Notice) =>
    Array.from({ length: count }, (_, index): [number, Notice] => [index, kind(`I${index}`)]);

  test('more than twenty a minute are twenty and a digest', () => {
    const { told } = play([...many(BURST_LIMIT + 30, (id) => parked(id)), ...many(7, (id) => done(id))]);

    expect(told).toHaveLength(BURST_LIMIT + 1);
    const digest = told.at(-1);
    expect(digest).toMatchObject({ ms: BURST_WINDOW_MS, notice: { kind: 'digest', counts: { parked: 30, done: 7 } } });
    expect(digest?.notice).toHaveProperty('identifiers', expect.arrayContaining(['I20']));
  });

  test('a digest of one is that one', () => {
    const { told } = play(many(BURST_LIMIT + 1, (id) => parked(id)));

    expect(told.at(-1)?.notice).toMatchObject({ kind: 'parked', issue: { id: 'I20' } });
  });

  test('a hold and a report are never lost in a digest', () => {
    const { told } = play([...many(BURST_LIMIT + 5, (id) => parked(id)), [100, hold('begun')], [101, report()]]);

    expect(told.filter(({ ms }) => ms >= 100 && ms < 200).map(({ notice }) => notice.kind)).toEqual([
      'hold',
      'daily_report',
    ]);
  });

  test('after the minute a new one begins', () => {
    const { told } = play([...many(BURST_LIMIT, (id) => parked(id)), [BURST_WINDOW_MS, parked('late')]]);

    expect(told.at(-1)).toMatchObject({ ms: BURST_WINDOW_MS, notice: { issue: { id: 'late' } } });
    expect(told).toHaveLength(BURST_LIMIT + 1);
  });
});

test('whatever comes in whatever order: no count is lost, and nothing is told late by more than its window', () => {
  const id = fc.constantFrom('A', 'B', 'C');
  const notice = fc.oneof(
    id.map((issue) => parked(issue)),
    id.map((issue) => done(issue)),
    fc.nat(1_000).map((n) => parked(`I${n}`)),
    fc.constantFrom('begun', 'over').map((event) => hold(event as 'begun')),
  );
  const gaps = fc.array(fc.tuple(fc.nat(90_000), notice), { maxLength: 150 });

  fc.assert(
    fc.property(gaps, (given) => {
      let ms = 0;
      const timed = given.map(([gap, one]): [number, Notice] => {
        ms += gap;
        return [ms, one];
      });

      const { told, state, wakeMs } = play(timed);

      const count = ({ notice: one, repeated }: Told) =>
        one.kind === 'digest' ? Object.values(one.counts).reduce((sum, n) => sum + n, 0) : Math.max(1, repeated);
      expect(told.reduce((sum, one) => sum + count(one), 0)).toBe(given.length);
      expect(told.every((one) => one.ms <= ms + REPEAT_WINDOW_MS + BURST_WINDOW_MS)).toBe(true);
      expect([wakeMs, collapseEnd(state)]).toEqual([null, []]);
    }),
  );
});
