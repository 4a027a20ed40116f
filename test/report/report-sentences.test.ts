import { expect, test } from 'vitest';
import { amountOf, moneyOf } from '../../src/report/report-sentences.js';

test.each([
  [0, false, '0.00', '0.00 EUR'],
  [0.004, false, '<0.01', '<0.01 EUR'],
  [0.005, false, '0.01', '0.01 EUR'],
  [12.345, false, '12.35', '12.35 EUR'],
  [12.345, true, '≥ 12.35', 'at least 12.35 EUR'],
  [0.004, true, '≥ 0.00', 'at least 0.00 EUR'],
  [0, true, '?', 'no price known'],
])('%f, partial: %s, is %s in a table and %s in a sentence', (amount, isPartial, shown, told) => {
  expect(amountOf({ amount, isPartial })).toBe(shown);
  expect(moneyOf({ amount, isPartial }, 'EUR')).toBe(told);
});
