import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { success } from '../../src/domain/outcome.js';
import { shortCount } from '../../src/page/model/numbers.js';
import { reportSummary } from '../../src/report/report-summary.js';
import { formatTokens } from '../../src/text/format-numbers.js';
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
])('%i tokens are told as %s', (tokens, shown) => {
  expect(formatTokens(tokens)).toBe(shown);
});

describe('one number of tokens is told alike', () => {
  const counts = fc.integer({ min: 0, max: 999_000_000 });

  test('by the status and by the page', () => {
    fc.assert(
      fc.property(counts, (count) => {
        expect(shortCount(count)).toBe(formatTokens(count));
      }),
    );
  });

  test('by the end of a run and by the report', () => {
    fc.assert(
      fc.property(counts, (output) => {
        const tokens = { input: 0, cached: 0, output };

        const told = describeOutcome(success(null, { usage: tokens }));
        const report = reportSummary(reportOf({ runs: [run({ tokens })] }));

        expect(told).toBe(`finished, ${formatTokens(output)} tokens`);
        expect(report).toContain(` ${formatTokens(output)} tokens, `);
      }),
    );
  });
});
