import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PricingConfig } from '../../src/domain/config.js';
import { costOf, unpricedModels } from '../../src/report/build-report.js';
import { PRICING, run } from './report-samples.js';

const spent = (input: number, cached: number, output: number, model: string | null = 'big') =>
  run({ model, tokens: { input, cached, output } });

describe('money', () => {
  test('is the uncached input, the cached input and the output, each at its price for a million', () => {
    expect(costOf([spent(3_000_000, 1_000_000, 500_000)], PRICING)).toEqual({ amount: 4 + 0.5 + 5, isPartial: false });
  });

  test('is not there without prices', () => {
    expect(costOf([spent(1, 0, 1)], null)).toBeNull();
    expect(costOf([spent(1, 0, 1)], { currency: 'USD', models: {} })).toBeNull();
  });

  test('is partial where a model has no price, or none was named, and they are told with their tokens', () => {
    const runs = [spent(1_000_000, 0, 0), spent(5, 1, 2, 'other'), spent(9, 0, 0, null), spent(3, 0, 0, 'other')];

    expect(costOf(runs, PRICING)).toEqual({ amount: 2, isPartial: true });
    expect(unpricedModels(runs, PRICING)).toEqual([
      { model: 'other', tokens: 9 },
      { model: null, tokens: 9 },
    ]);
  });

  test('is whole where those without a price spent nothing: a run that never began costs nothing', () => {
    const runs = [spent(1_000_000, 0, 0), spent(0, 0, 0, null)];

    expect(costOf(runs, PRICING)).toEqual({ amount: 2, isPartial: false });
    expect(unpricedModels(runs, PRICING)).toEqual([]);
  });

  test('is never less for an agent that counts more cached input than input', () => {
    expect(costOf([spent(1_000_000, 9_000_000, 0)], PRICING)).toEqual({ amount: 0.5, isPartial: false });
  });

  test('does not drift: ten thousand runs cost to the last digit what one of all their tokens costs', () => {
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

  test('money of two lots is the money of one and that of the other', () => {
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

  test('prices that are twice as high make twice the money, and the order of runs makes no difference', () => {
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
