import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  BURST_LIMIT,
  BURST_WINDOW_MS,
  type CollapseState,
  collapse,
  EMPTY_COLLAPSE,
  flushCollapse,
  REPEAT_WINDOW_MS,
} from '../../src/notify/collapse.js';
import type { Notice, OutgoingNotice } from '../../src/notify/notice.js';
import { asking, done, hold, parked, report } from './samples.js';

/** Notices at their times, in order; what is sent, and when. */
function play(given: readonly (readonly [number, Notice])[], untilMs = Number.POSITIVE_INFINITY) {
  const sent: (OutgoingNotice & { readonly ms: number })[] = [];
  let state: CollapseState = EMPTY_COLLAPSE;
  let wakeMs: number | null = null;
  const step = (ms: number, notices: readonly Notice[]) => {
    const result = collapse(state, notices, ms);
    state = result.state;
    wakeMs = result.wakeMs;
    sent.push(...result.ready.map((one) => ({ ...one, ms })));
  };
  const wakeUntil = (ms: number) => {
    while (wakeMs !== null && wakeMs <= ms) step(wakeMs, []);
  };
  for (const [ms, notice] of given) {
    wakeUntil(ms);
    step(ms, [notice]);
  }
  wakeUntil(untilMs);
  return { sent, state, wakeMs };
}

describe('repeats', () => {
  test('repeats within ten minutes are held back and sent as one afterwards', () => {
    const { sent } = play([
      [0, parked('A')],
      [60_000, parked('A')],
      [120_000, parked('A')],
    ]);

    expect(sent).toMatchObject([
      { ms: 0, repeated: 0 },
      { ms: REPEAT_WINDOW_MS, repeated: 2, notice: { kind: 'parked' } },
    ]);
  });

  test('a notice is a repeat only within ten minutes and with the same issue, reason and code', () => {
    const { sent } = play([
      [0, parked('A')],
      [1, parked('B')],
      [2, parked('A', 'budget')],
      [3, hold('begun', 'agent_unauthorized')],
      [4, hold('begun', 'codex_not_found')],
      [REPEAT_WINDOW_MS, parked('A')],
    ]);

    expect(sent.map(({ ms, repeated }) => [ms, repeated])).toEqual([
      [0, 0],
      [1, 0],
      [2, 0],
      [3, 0],
      [4, 0],
      [REPEAT_WINDOW_MS, 0],
    ]);
  });

  test('every question is sent at once, since each needs its own answer', () => {
    const { sent } = play([
      [0, asking('A', 'q1')],
      [1, asking('A', 'q2')],
      [2, asking('A', 'q3')],
    ]);

    expect(sent.map(({ ms }) => ms)).toEqual([0, 1, 2]);
  });

  test('the newest notice about an issue or a hold is the last one sent', () => {
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

    expect(flapping.sent.at(-1)).toMatchObject({ repeated: 3, notice: { event: 'begun' } });
    expect(finished.sent.map(({ ms, notice, repeated }) => [ms, notice.kind, repeated])).toEqual([
      [0, 'parked', 0],
      [2_000, 'parked', 1],
      [2_000, 'done', 0],
    ]);
  });

  test('reports are never held back', () => {
    const { sent } = play([
      [0, report()],
      [1, report()],
    ]);

    expect(sent).toHaveLength(2);
  });

  test('a daemon that ends sends its delayed notices', () => {
    const { state } = play(
      [
        [0, parked('A')],
        [1, parked('A')],
      ],
      2,
    );

    expect(flushCollapse(state)).toMatchObject([{ repeated: 1, notice: { kind: 'parked' } }]);
  });
});

describe('bursts', () => {
  const many = (count: number, kind: (id: string) => Notice) =>
    Array.from({ length: count }, (_, index): [number, Notice] => [index, kind(`I${index}`)]);

  test('more than twenty a minute are twenty and a digest', () => {
    const { sent } = play([...many(BURST_LIMIT + 30, (id) => parked(id)), ...many(7, (id) => done(id))]);

    expect(sent).toHaveLength(BURST_LIMIT + 1);
    const digest = sent.at(-1);
    expect(digest).toMatchObject({ ms: BURST_WINDOW_MS, notice: { kind: 'digest', counts: { parked: 30, done: 7 } } });
    expect(digest?.notice).toHaveProperty('identifiers', expect.arrayContaining(['I20']));
  });

  test('a digest of one notice is that notice', () => {
    const { sent } = play(many(BURST_LIMIT + 1, (id) => parked(id)));

    expect(sent.at(-1)?.notice).toMatchObject({ kind: 'parked', issue: { id: 'I20' } });
  });

  test('a hold and a report are never lost in a digest', () => {
    const { sent } = play([...many(BURST_LIMIT + 5, (id) => parked(id)), [100, hold('begun')], [101, report()]]);

    expect(sent.filter(({ ms }) => ms >= 100 && ms < 200).map(({ notice }) => notice.kind)).toEqual([
      'hold',
      'daily_report',
    ]);
  });

  test('a new burst begins after a minute', () => {
    const { sent } = play([...many(BURST_LIMIT, (id) => parked(id)), [BURST_WINDOW_MS, parked('late')]]);

    expect(sent.at(-1)).toMatchObject({ ms: BURST_WINDOW_MS, notice: { issue: { id: 'late' } } });
    expect(sent).toHaveLength(BURST_LIMIT + 1);
  });
});

test('in any order of notices no count is lost, and no notice is late by more than its window', () => {
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

      const { sent, state, wakeMs } = play(timed);

      const count = ({ notice: one, repeated }: OutgoingNotice) =>
        one.kind === 'digest' ? Object.values(one.counts).reduce((sum, n) => sum + n, 0) : Math.max(1, repeated);
      expect(sent.reduce((sum, one) => sum + count(one), 0)).toBe(given.length);
      expect(sent.every((one) => one.ms <= ms + REPEAT_WINDOW_MS + BURST_WINDOW_MS)).toBe(true);
      expect([wakeMs, flushCollapse(state)]).toEqual([null, []]);
    }),
  );
});
