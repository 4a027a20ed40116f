import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PricingConfig } from '../../src/domain/config.js';
import { costOf, unpricedModels } from '../../src/report/build-report.js';
import { failed, finished, HOUR_MS, NOON_MS, PRICING, reportOf, run } from './report-samples.js';

const SINCE_MS = NOON_MS - 24 * HOUR_MS;
const UNTIL_MS = NOON_MS + HOUR_MS;
const names = ({ groups }: ReturnType<typeof reportOf>) => groups.map(({ name }) => name);

describe('a period', () => {
  test('has the runs that started in it, its start included and its end excluded', () => {
    const runs = [SINCE_MS - 1, SINCE_MS, UNTIL_MS - 1, UNTIL_MS].map((startedAtMs, n) =>
      run({ issueId: `I${n}`, startedAtMs }),
    );

    expect(names(reportOf({ runs })).sort()).toEqual(['I1', 'I2']);
  });

  test('has the issues that left in it, also with earlier runs', () => {
    const early = run({ startedAtMs: SINCE_MS - HOUR_MS, author: 'ann', tokens: { input: 9, cached: 0, output: 9 } });

    const { totals, groups } = reportOf({ runs: [early], finished: [finished()] });
    const byAuthor = reportOf({ runs: [early], finished: [finished()], by: 'author' });

    expect(totals).toMatchObject({ issues: { workedOn: 0, done: 1 }, runs: { all: 0 }, tokens: { billable: 0 } });
    expect(groups).toMatchObject([{ name: 'A', issue: { state: 'Done', runs: [] } }]);
    expect(names(byAuthor)).toEqual(['ann']);
  });

  test('is empty when nothing happened in it', () => {
    const around = [run({ startedAtMs: SINCE_MS - HOUR_MS }), run({ startedAtMs: UNTIL_MS + HOUR_MS })];

    const report = reportOf({
      runs: around,
      finished: [finished({ atMs: SINCE_MS - 1 }), finished({ atMs: UNTIL_MS })],
    });

    expect(report.groups).toEqual([]);
    expect(report.totals.issues).toEqual({ workedOn: 0, done: 0, handedOver: 0 });
  });
});

describe('runs', () => {
  test('are counted by outcome; open runs are counted without a time', () => {
    const outcomes = ['success', 'success', 'failed', 'timeout', 'cancelled'] as const;
    const ended = outcomes.map((outcome) => run({ end: { outcome } }));
    const retried = run({ reason: 'retry', end: null, startedAtMs: NOON_MS });

    const { totals } = reportOf({ runs: [...ended, retried] });

    expect(totals.runs).toEqual({ all: 6, success: 2, failed: 1, timeout: 1, cancelled: 1, running: 1, retries: 1 });
    expect(totals.timeMs).toBe((5 * HOUR_MS) / 6);
  });

  test('that ended before they started, because the clock was set back, have the duration 0', () => {
    const odd = run({ end: { atMs: NOON_MS - 5 * HOUR_MS } });

    expect(reportOf({ runs: [odd] }).totals.timeMs).toBe(0);
  });

  test('that failed are counted by code, the most frequent first; stopped, interrupted or overtaken ones are no failures', () => {
    const codes = [
      'turn_failed',
      'stall_timeout',
      'stall_timeout',
      'CANCELLED_BY_ORCHESTRATOR',
      'STOPPED_BY_OPERATOR',
      'INTERRUPTED',
    ] as const;
    const runs = codes.map((code) => run({ end: { outcome: 'cancelled', code } }));

    const { totals } = reportOf({ runs });

    expect(totals.failures).toEqual([
      { code: 'stall_timeout', runs: 2 },
      { code: 'turn_failed', runs: 1 },
    ]);
    expect(totals.runs).toMatchObject({ failed: 3, cancelled: 3 });
  });

  test('of an issue are all listed, the oldest first', () => {
    const second = run({ runId: 'r2', number: 2, startedAtMs: NOON_MS, end: null, model: null });
    const first = run({ runId: 'r1', end: failed, tokens: { input: 5, cached: 2, output: 1 } });

    const [group] = reportOf({ runs: [second, first] }).groups;

    expect(group?.issue?.runs).toEqual([
      {
        ...{ id: 'r1', number: 1, startedAtMs: NOON_MS - HOUR_MS, endedAtMs: NOON_MS - (5 * HOUR_MS) / 6 },
        ...{ outcome: 'failed', code: 'turn_failed', model: 'big' },
        tokens: { input: 5, cached: 2, output: 1, billable: 4 },
        afterRunFailed: false,
      },
      expect.objectContaining({ id: 'r2', endedAtMs: null, outcome: 'running', code: null, model: null }),
    ]);
  });
});

describe('issues', () => {
  test('are done, handed over or neither, listed in that order, the latest first', () => {
    const at = (hours: number) => ({ startedAtMs: NOON_MS - hours * HOUR_MS });
    const runs = [
      run({ issueId: 'open', ...at(1) }),
      run({ issueId: 'older', ...at(9) }),
      run({ issueId: 'review', ...at(8) }),
      run({ issueId: 'done-late', ...at(7) }),
      run({ issueId: 'done-soon', ...at(7) }),
    ];
    const left = [
      finished({ issueId: 'review', state: 'In Review', isTerminal: false, atMs: NOON_MS + 5 }),
      finished({ issueId: 'done-soon', atMs: NOON_MS + 1 }),
      finished({ issueId: 'done-late', atMs: NOON_MS + 2 }),
    ];

    const report = reportOf({ runs, finished: left });

    expect(names(report)).toEqual(['done-late', 'done-soon', 'review', 'open', 'older']);
    expect(report.totals.issues).toEqual({ workedOn: 5, done: 2, handedOver: 1 });
    expect(report.groups.map(({ issue }) => issue?.state)).toEqual(['Done', 'Done', 'In Review', null, null]);
  });

  test('that left twice count once, by their last state', () => {
    const runs = [run({ number: 1 }), run({ number: 2, startedAtMs: NOON_MS })];
    const review = finished({ state: 'In Review', isTerminal: false, runs: 1 });
    const done = finished({ runs: 2, atMs: NOON_MS + 9 });

    expect(reportOf({ runs, finished: [done, review] }).totals.issues).toEqual({ workedOn: 1, done: 1, handedOver: 0 });
  });

  test('that left twice at the same time went to the terminal state, in any order of the records', () => {
    const twice = [finished({ isTerminal: false }), finished({ isTerminal: true })];

    for (const left of [twice, [...twice].reverse()])
      expect(reportOf({ finished: left }).totals.issues).toMatchObject({ done: 1, handedOver: 0 });
  });

  test('that were handed over and came back have not left, whatever the time', () => {
    const review = finished({ state: 'In Review', isTerminal: false, runs: 1 });
    const back = run({ number: 2, startedAtMs: NOON_MS - 2 * HOUR_MS, end: null });

    const { totals, groups } = reportOf({ runs: [run(), back], finished: [review] });

    expect(totals.issues).toEqual({ workedOn: 1, done: 0, handedOver: 0 });
    expect(groups[0]?.issue?.state).toBeNull();
  });

  test('stay one issue under a new name and title', () => {
    const runs = [run({ title: 'old' }), run({ number: 2, identifier: 'B', title: 'new', startedAtMs: NOON_MS })];

    const left = finished({ identifier: 'C', title: 'newest', runs: 2 });

    expect(reportOf({ runs }).groups).toMatchObject([{ name: 'B', issue: { id: 'A', title: 'new' } }]);
    expect(reportOf({ runs, finished: [left] }).groups).toMatchObject([{ name: 'C', issue: { title: 'newest' } }]);
  });
});

describe('a breakdown', () => {
  const spent = (tokens: number) => ({ input: tokens, cached: 0, output: 0 });

  test('by label lists an issue under each of its labels with a note, the most expensive first', () => {
    const runs = [
      run({ issueId: 'A', labels: ['cheap', 'dear'], tokens: spent(5) }),
      run({ issueId: 'B', labels: ['dear'], tokens: spent(7) }),
      run({ issueId: 'C', tokens: spent(6) }),
    ];

    const report = reportOf({ runs, by: 'label' });

    expect(report.groups.map(({ name, tokens }) => [name, tokens.billable])).toEqual([
      ['dear', 12],
      [null, 6],
      ['cheap', 5],
    ]);
    expect(report.totals.tokens.billable).toBe(18);
    expect(report.notes).toEqual([{ kind: 'overlap' }]);
  });

  test('by label without an issue of two labels has no note', () => {
    expect(reportOf({ runs: [run({ labels: ['x'] })], by: 'label' }).notes).toEqual([]);
  });

  test('by day is in the order of days: a run on the day it began, an issue on the day it left', () => {
    const runs = [
      run({ issueId: 'B', tokens: spent(9) }),
      run({ startedAtMs: NOON_MS - 13 * HOUR_MS, end: null, tokens: spent(5) }),
    ];

    const { groups } = reportOf({ runs, finished: [finished()], by: 'day' });

    expect(groups.map(({ name, issues }) => [name, issues.workedOn, issues.done])).toEqual([
      ['2026-11-16', 1, 0],
      ['2026-11-17', 1, 1],
    ]);
  });

  test('names of object members are ordinary names', () => {
    const runs = ['__proto__', 'constructor'].map((author) => run({ author, issueId: author, model: author }));

    const report = reportOf({ runs, by: 'author', pricing: PRICING });

    expect(names(report)).toEqual(['__proto__', 'constructor']);
    expect(report.totals.cost).toEqual({ amount: 0, isPartial: false });
  });
});

const spent = (input: number, cached: number, output: number, model: string | null = 'big') =>
  run({ model, tokens: { input, cached, output } });

describe('money', () => {
  test('is the uncached input, the cached input and the output, each at its price for a million', () => {
    expect(costOf([spent(3_000_000, 1_000_000, 500_000)], PRICING)).toEqual({ amount: 4 + 0.5 + 5, isPartial: false });
  });

  test('is missing without prices', () => {
    expect(costOf([spent(1, 0, 1)], null)).toBeNull();
    expect(costOf([spent(1, 0, 1)], { currency: 'USD', models: {} })).toBeNull();
  });

  test('is partial when a model has no price or no name, and these are listed with their tokens', () => {
    const runs = [spent(1_000_000, 0, 0), spent(5, 1, 2, 'other'), spent(9, 0, 0, null), spent(3, 0, 0, 'other')];

    expect(costOf(runs, PRICING)).toEqual({ amount: 2, isPartial: true });
    expect(unpricedModels(runs, PRICING)).toEqual([
      { model: 'other', tokens: 9 },
      { model: null, tokens: 9 },
    ]);
  });

  test('is complete when models without a price spent nothing', () => {
    const runs = [spent(1_000_000, 0, 0), spent(0, 0, 0, null)];

    expect(costOf(runs, PRICING)).toEqual({ amount: 2, isPartial: false });
    expect(unpricedModels(runs, PRICING)).toEqual([]);
  });

  test('is never reduced by an agent that reports more cached input than input', () => {
    expect(costOf([spent(1_000_000, 9_000_000, 0)], PRICING)).toEqual({ amount: 0.5, isPartial: false });
  });

  test('does not drift: ten thousand runs cost exactly what one run with all their tokens costs', () => {
    const pricing: PricingConfig = { currency: 'USD', models: { big: { input: 0.1, cachedInput: 0.7, output: 1.1 } } };
    const small = Array.from({ length: 10_000 }, () => spent(3, 1, 7));

    expect(costOf(small, pricing)).toEqual(costOf([spent(30_000, 10_000, 70_000)], pricing));
  });
});

const tokens = fc.nat({ max: 1_000_000_000 });
const runs = fc.array(
  fc
    .tuple(tokens, tokens, tokens, fc.constantFrom('big', 'small', 'other', null))
    .map(([input, cached, output, model]) => spent(input, cached, output, model)),
  { maxLength: 20 },
);
const price = fc.nat({ max: 100_000 }).map((cents) => cents / 1_000);
const model = fc.record({ input: price, cachedInput: price, output: price });
const pricing: fc.Arbitrary<PricingConfig> = fc
  .record({ big: model, small: model })
  .map((models) => ({ currency: 'EUR', models }));

describe('for all runs and prices', () => {
  const amount = (some: Parameters<typeof costOf>[0], prices: PricingConfig) =>
    costOf(some, prices)?.amount ?? Number.NaN;

  test('the cost of two sets of runs is the sum of their costs', () => {
    fc.assert(
      fc.property(runs, runs, pricing, (some, others, prices) => {
        const together = amount([...some, ...others], prices);
        const apart = amount(some, prices) + amount(others, prices);

        expect(Math.abs(together - apart)).toBeLessThanOrEqual(together * 1e-12);
        expect(costOf([...some, ...others], prices)?.isPartial).toBe(
          [some, others].some((lot) => costOf(lot, prices)?.isPartial),
        );
      }),
    );
  });

  test('doubled prices double the cost, and the order of runs makes no difference', () => {
    fc.assert(
      fc.property(runs, pricing, (some, prices) => {
        const doubled = Object.entries(prices.models).map(([name, each]) => [
          name,
          { input: each.input * 2, cachedInput: each.cachedInput * 2, output: each.output * 2 },
        ]);

        expect(amount(some, { currency: 'EUR', models: Object.fromEntries(doubled) })).toBeCloseTo(
          2 * amount(some, prices),
          3,
        );
        expect(amount([...some].reverse(), prices)).toBeCloseTo(amount(some, prices), 3);
      }),
    );
  });
});
