import { describe, expect, test } from 'vitest';
import { failed, finished, HOUR_MS, NOON_MS, PRICING, reportOf, run } from './report-samples.js';

const SINCE_MS = NOON_MS - 24 * HOUR_MS;
const UNTIL_MS = NOON_MS + HOUR_MS;
const names = ({ groups }: ReturnType<typeof reportOf>) => groups.map(({ name }) => name);

describe('a period', () => {
  test('has the runs that began in it, from its first moment until just before its last', () => {
    const runs = [SINCE_MS - 1, SINCE_MS, UNTIL_MS - 1, UNTIL_MS].map((startedAtMs, n) =>
      run({ issueId: `I${n}`, startedAtMs }),
    );

    expect(names(reportOf({ runs })).sort()).toEqual(['I1', 'I2']);
  });

  test('has the issues that left in it, also when their runs were before', () => {
    const early = run({ startedAtMs: SINCE_MS - HOUR_MS, author: 'ann', tokens: { input: 9, cached: 0, output: 9 } });

    const { totals, groups } = reportOf({ runs: [early], finished: [finished()] });
    const byAuthor = reportOf({ runs: [early], finished: [finished()], by: 'author' });

    expect(totals).toMatchObject({ issues: { workedOn: 0, done: 1 }, runs: { all: 0 }, tokens: { billable: 0 } });
    expect(groups).toMatchObject([{ name: 'A', issue: { state: 'Done', runs: [] } }]);
    expect(names(byAuthor)).toEqual(['ann']);
  });

  test('is empty when nothing happened in it, whatever happened around it', () => {
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
  test('are counted by how they ended, and those that have not ended as such, without a time', () => {
    const outcomes = ['success', 'success', 'failed', 'timeout', 'cancelled'] as const;
    const ended = outcomes.map((outcome) => run({ end: { outcome } }));
    const retried = run({ reason: 'retry', end: null, startedAtMs: NOON_MS });

    const { totals } = reportOf({ runs: [...ended, retried] });

    expect(totals.runs).toEqual({ all: 6, success: 2, failed: 1, timeout: 1, cancelled: 1, running: 1, retries: 1 });
    expect(totals.timeMs).toBe((5 * HOUR_MS) / 6);
  });

  test('that ended before they began, by a clock that was set back, took no time', () => {
    const odd = run({ end: { atMs: NOON_MS - 5 * HOUR_MS } });

    expect(reportOf({ runs: [odd] }).totals.timeMs).toBe(0);
  });

  test('failed by code, the most frequent first; being stopped, interrupted or overtaken is no failure', () => {
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

  test('of an issue are all named, the oldest first', () => {
    const second = run({ runId: 'r2', number: 2, startedAtMs: NOON_MS, end: null, model: null });
    const first = run({ runId: 'r1', end: failed, tokens: { input: 5, cached: 2, output: 1 } });

    const [group] = reportOf({ runs: [second, first] }).groups;

    expect(group?.issue?.runs).toEqual([
      {
        ...{ id: 'r1', number: 1, startedAtMs: NOON_MS - HOUR_MS, endedAtMs: NOON_MS - (5 * HOUR_MS) / 6 },
        ...{ outcome: 'failed', code: 'turn_failed', model: 'big' },
        tokens: { input: 5, cached: 2, output: 1, billable: 4 },
      },
      expect.objectContaining({ id: 'r2', endedAtMs: null, outcome: 'running', code: null, model: null }),
    ]);
  });
});

describe('issues', () => {
  test('are done, handed over or neither, and told in that order, the latest first', () => {
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

  test('that left twice count once, by where they went last', () => {
    const runs = [run({ number: 1 }), run({ number: 2, startedAtMs: NOON_MS })];
    const review = finished({ state: 'In Review', isTerminal: false, runs: 1 });
    const done = finished({ runs: 2, atMs: NOON_MS + 9 });

    expect(reportOf({ runs, finished: [done, review] }).totals.issues).toEqual({ workedOn: 1, done: 1, handedOver: 0 });
  });

  test('that left twice at the same moment went where it is final, in whichever order that is told', () => {
    const twice = [finished({ isTerminal: false }), finished({ isTerminal: true })];

    for (const left of [twice, [...twice].reverse()])
      expect(reportOf({ finished: left }).totals.issues).toMatchObject({ done: 1, handedOver: 0 });
  });

  test('that were handed over and are back have not left, whatever the clock says', () => {
    const review = finished({ state: 'In Review', isTerminal: false, runs: 1 });
    const back = run({ number: 2, startedAtMs: NOON_MS - 2 * HOUR_MS, end: null });

    const { totals, groups } = reportOf({ runs: [run(), back], finished: [review] });

    expect(totals.issues).toEqual({ workedOn: 1, done: 0, handedOver: 0 });
    expect(groups[0]?.issue?.state).toBeNull();
  });

  test('are one issue under a new name and title', () => {
    const runs = [run({ title: 'old' }), run({ number: 2, identifier: 'B', title: 'new', startedAtMs: NOON_MS })];

    const left = finished({ identifier: 'C', title: 'newest', runs: 2 });

    expect(reportOf({ runs }).groups).toMatchObject([{ name: 'B', issue: { id: 'A', title: 'new' } }]);
    expect(reportOf({ runs, finished: [left] }).groups).toMatchObject([{ name: 'C', issue: { title: 'newest' } }]);
  });
});

describe('a breakdown', () => {
  const spent = (tokens: number) => ({ input: tokens, cached: 0, output: 0 });

  test('by label has an issue under each of its labels, says so, and puts what spent most first', () => {
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

  test('by label without an issue of two labels has nothing to say about it', () => {
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

  test('names like those of objects are names', () => {
    const runs = ['__proto__', 'constructor'].map((author) => run({ author, issueId: author, model: author }));

    const report = reportOf({ runs, by: 'author', pricing: PRICING });

    expect(names(report)).toEqual(['__proto__', 'constructor']);
    expect(report.totals.cost).toEqual({ amount: 0, isPartial: false });
  });
});
