import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { FinishedIssue, RunRecord } from '../../src/domain/durable.js';
import type { Group, Sums } from '../../src/report/report.js';
import { REPORT_BY } from '../../src/report/report.js';
import { reportJson, reportShape } from '../../src/report/report-json.js';
import { reportSummary } from '../../src/report/report-sentences.js';
import { reportColumns } from '../../src/report/report-text.js';
import { finished, HOUR_MS, NOON_MS, PRICING, reportOf, run } from './report-samples.js';

const issueId = fc.constantFrom('A', 'B', 'C', 'D');
const hours = fc.integer({ min: -80, max: 3 });
const count = fc.nat({ max: 5_000_000 });

const someRun: fc.Arbitrary<RunRecord> = fc
  .record({
    issueId,
    hours,
    number: fc.integer({ min: 1, max: 5 }),
    author: fc.constantFrom('ann', 'bob', null),
    labels: fc.subarray(['x', 'y', 'z']),
    model: fc.constantFrom('big', 'small', 'other', null),
    tokens: fc.record({ input: count, cached: count, output: count }),
    reason: fc.constantFrom('first' as const, 'retry' as const, 'continuation' as const),
    end: fc.constantFrom(
      null,
      { outcome: 'success' } as const,
      { outcome: 'failed', code: 'turn_failed' } as const,
      { outcome: 'cancelled', code: 'INTERRUPTED' } as const,
      { outcome: 'cancelled', code: 'STOPPED_BY_OPERATOR' } as const,
      { outcome: 'cancelled', code: 'stall_timeout' } as const,
      { outcome: 'timeout', code: 'turn_timeout' } as const,
    ),
  })
  .map(({ hours: ago, ...rest }) => run({ ...rest, startedAtMs: NOON_MS + ago * HOUR_MS }));

const someFinished: fc.Arbitrary<FinishedIssue> = fc
  .record({ issueId, hours, runs: fc.integer({ min: 1, max: 5 }), isTerminal: fc.boolean() })
  .map(({ hours: ago, ...rest }) => finished({ ...rest, atMs: NOON_MS + ago * HOUR_MS }));

const history = fc.record({
  runs: fc.array(someRun, { maxLength: 25 }),
  finished: fc.array(someFinished, { maxLength: 8 }),
});

function added(groups: readonly Group[]): Omit<Sums, 'failures' | 'cost'> {
  const sum = (pick: (group: Group) => number) => groups.reduce((all, group) => all + pick(group), 0);
  return {
    issues: {
      workedOn: sum(({ issues }) => issues.workedOn),
      done: sum(({ issues }) => issues.done),
      handedOver: sum(({ issues }) => issues.handedOver),
    },
    runs: {
      all: sum(({ runs }) => runs.all),
      success: sum(({ runs }) => runs.success),
      failed: sum(({ runs }) => runs.failed),
      timeout: sum(({ runs }) => runs.timeout),
      cancelled: sum(({ runs }) => runs.cancelled),
      running: sum(({ runs }) => runs.running),
      retries: sum(({ runs }) => runs.retries),
    },
    tokens: {
      input: sum(({ tokens }) => tokens.input),
      cached: sum(({ tokens }) => tokens.cached),
      output: sum(({ tokens }) => tokens.output),
      billable: sum(({ tokens }) => tokens.billable),
    },
    timeMs: sum(({ timeMs }) => timeMs),
  };
}

const failures = (some: readonly Sums[]) =>
  some.flatMap((one) => one.failures).reduce((all, { runs }) => all + runs, 0);

describe('any report', () => {
  test.each(['issue', 'author', 'day'] as const)('the lines of a report by %s add up to its totals', (by) => {
    fc.assert(
      fc.property(history, (past) => {
        const { totals, groups } = reportOf({ ...past, by, pricing: PRICING });
        const { issues, ...rest } = added(groups);

        expect(totals).toMatchObject(rest);
        expect({ done: issues.done, handedOver: issues.handedOver }).toEqual({
          done: totals.issues.done,
          handedOver: totals.issues.handedOver,
        });
        // On two days an issue is worked on twice.
        if (by !== 'day') expect(issues.workedOn).toBe(totals.issues.workedOn);
        expect(failures(groups)).toBe(failures([totals]));
        const money = groups.reduce((sum, { cost }) => sum + (cost?.amount ?? Number.NaN), 0);
        expect(money).toBeCloseTo(totals.cost?.amount ?? Number.NaN, 6);
      }),
    );
  });

  test('a report by label adds up to at least the totals, and exactly to them when no issue has two labels', () => {
    fc.assert(
      fc.property(history, (past) => {
        const { totals, groups, notes } = reportOf({ ...past, by: 'label' });
        const sums = added(groups);

        expect(sums.tokens.billable).toBeGreaterThanOrEqual(totals.tokens.billable);
        expect(sums.runs.all).toBeGreaterThanOrEqual(totals.runs.all);
        if (notes.length === 0) expect(totals).toMatchObject(sums);
      }),
    );
  });

  test('the totals are the same for every grouping and order of the records', () => {
    fc.assert(
      fc.property(history, fc.constantFrom(...REPORT_BY), ({ runs, finished: left }, by) => {
        const report = reportOf({ runs, finished: left, by });
        const reversed = reportOf({ runs: [...runs].reverse(), finished: [...left].reverse(), by });

        expect(report.totals).toEqual(reportOf({ runs, finished: left }).totals);
        expect(reversed.totals).toEqual(report.totals);
      }),
    );
  });

  test('every run is counted once, with one outcome or as open', () => {
    fc.assert(
      fc.property(history, ({ runs, finished: left }) => {
        const { period, totals } = reportOf({ runs, finished: left });
        const { all, success, failed, timeout, cancelled, running } = totals.runs;
        const inPeriod = runs.filter(
          ({ startedAtMs }) => startedAtMs >= period.sinceMs && startedAtMs < period.untilMs,
        );

        expect(all).toBe(inPeriod.length);
        expect(success + failed + timeout + cancelled + running).toBe(all);
      }),
    );
  });

  test('the failures are the runs that failed or took too long: in the totals, in each line and in the table', () => {
    fc.assert(
      fc.property(history, fc.constantFrom('label', 'author', 'day'), (past, by) => {
        const report = reportOf({ ...past, by });
        const column = reportColumns(report).find(({ head }) => head.text === 'failed');

        for (const sums of [report.totals, ...report.groups])
          expect(failures([sums])).toBe(sums.runs.failed + sums.runs.timeout);
        expect(column?.cells.map(({ text }) => text)).toEqual(report.groups.map((one) => String(failures([one]))));
      }),
    );
  });

  test('the JSON matches its shape, and the summary is short enough', () => {
    fc.assert(
      fc.property(history, fc.constantFrom(...REPORT_BY), fc.constantFrom(null, PRICING), (past, by, pricing) => {
        const report = reportOf({ ...past, by, pricing });
        const json = reportJson(report, 'dir');

        expect(reportShape.parse(JSON.parse(JSON.stringify(json)))).toEqual(json);
        expect(reportSummary(report).length).toBeLessThanOrEqual(600);
      }),
    );
  });
});
