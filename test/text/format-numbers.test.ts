import fc from 'fast-check';
import { expect, test } from 'vitest';
import { success } from '../../src/domain/outcome.js';
import { reportSummary } from '../../src/report/report-sentences.js';
import { counted, formatBudget, formatTokens } from '../../src/text/format-numbers.js';
import { describeOutcome } from '../../src/text/run-sentences.js';
import { reportOf, run } from '../report/report-samples.js';

test.each([
  [0, '0'],
  [999, '999'],
  [1_000, '1k'],
  [4_487, '4.5k'],
  [99_949, '99.9k'],
  [99_950, '100k'],
  [999_499, '999k'],
  [999_500, '1M'],
  [9_994_000, '10M'],
  [12_340_000, '12.3M'],
  [1_234_567_890, '1.2G'],
  [Number.NaN, '–'],
])('%i tokens are shown as %s', (tokens, shown) => {
  expect(formatTokens(tokens)).toBe(shown);
});

test('the end of a run and the report show the same number of tokens', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 999_000_000 }), (output) => {
      const tokens = { input: 0, cached: 0, output };

      const outcome = describeOutcome(success(null, { usage: tokens }));
      const report = reportSummary(reportOf({ runs: [run({ tokens })] }));

      expect(outcome).toBe(`finished, ${formatTokens(output)} tokens`);
      expect(report).toContain(` ${formatTokens(output)} tokens, `);
    }),
  );
});

test('a budget without a limit is the number of tokens spent', () => {
  expect(formatBudget({ spent: 5, limit: null })).toBe('5 tokens');
  expect(formatBudget({ spent: 5, limit: 1_000 })).toBe('5 of 1k tokens');
});

test('one is singular', () => {
  expect([counted(1, 'run'), counted(0, 'run'), counted(2, 'run'), counted(1_234_567, 'run')]).toEqual([
    '1 run',
    '0 runs',
    '2 runs',
    '1,234,567 runs',
  ]);
});
