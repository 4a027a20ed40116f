import { describe, expect, test } from 'vitest';
import { dayLabel, scaleFor } from '../../../src/page/model/chart-scale.js';
import {
  agentLimits,
  clockTime,
  elapsed,
  fullTime,
  relativeTime,
  runCost,
  shareOf,
} from '../../../src/page/model/numbers.js';
import { outcomeWords, ruleWords, startedWords } from '../../../src/page/model/words.js';
import { parkedSummary } from '../../../src/text/parked-reasons.js';

const NOW = Date.parse('2026-11-18T12:00:00.000Z');
const at = (seconds: number) => new Date(NOW + seconds * 1000).toISOString();

describe('times in words', () => {
  test.each([
    [0, 'now'],
    [-0.4, 'just now'],
    [-12, '12 s ago'],
    [-59.8, '59 s ago'],
    [-180, '3 min ago'],
    [-7_200, '2 h ago'],
    [-86_400, '1 d ago'],
    [-500_000, '5 d 18 h ago'],
    [23, 'in 23 s'],
    [90, 'in 1 min'],
  ])('%d seconds from now is %j', (seconds, words) => {
    expect(relativeTime(at(seconds), NOW)).toBe(words);
  });

  test('a running duration has two units', () => {
    expect([5, 65, 3_700, 90_000].map((seconds) => elapsed(at(-seconds), NOW))).toEqual([
      '5 s',
      '1 min 5 s',
      '1 h 1 min',
      '1 d 1 h',
    ]);
    expect(elapsed(at(5), NOW)).toBe('0 s');
  });

  test('an invalid time is empty', () => {
    const functions = [relativeTime, elapsed, clockTime, (text: string | null) => fullTime(text)];
    expect(functions.flatMap((tell) => [tell(null, NOW), tell('soon', NOW)])).toEqual(Array(8).fill(''));
  });

  test('a time of another day has its date', () => {
    expect(clockTime(at(-5), NOW)).not.toMatch(/,/);
    expect(clockTime(at(-400_000), NOW)).toMatch(/,/);
  });
});

describe('numbers', () => {
  test('the share of a cap is between 0 and 1, and null without a cap', () => {
    expect(shareOf({ spent: 5, limit: 10 })).toBe(0.5);
    expect(shareOf({ spent: 15, limit: 10 })).toBe(1);
    expect(shareOf({ spent: 5, limit: null })).toBeNull();
    expect(shareOf({ spent: 5, limit: 0 })).toBeNull();
  });

  test('the tokens of a run are those that budgets count, without cached tokens', () => {
    const tokens = { input_tokens: 1_000, cached_input_tokens: 400, output_tokens: 50, total_tokens: 1_050 };

    expect(runCost({ turns: 1, tokens })).toBe('1 turn, 650 tokens');
  });
});

describe('a chart', () => {
  test.each([
    [[], 1, [0]],
    [[0, 0], 1, [0]],
    [[1], 1, [0, 1]],
    [[3, 7], 10, [0, 5, 10]],
    [[29], 40, [0, 20, 40]],
    [[31_000_000], 40_000_000, [0, 20_000_000, 40_000_000]],
  ])('of %j ends at %d, with lines at %j', (values, top, ticks) => {
    expect(scaleFor(values)).toEqual({ top, ticks });
  });

  test('a day is named without its year, whatever the time zone', () => {
    expect(dayLabel('2026-11-01')).toMatch(/^(?:1 Nov|Nov 1)$/);
  });
});

describe('codes in words', () => {
  test('an unknown code is readable', () => {
    expect([parkedSummary('new_reason'), ruleWords('new_rule')]).toEqual(['new reason', 'New rule']);
  });

  test('the cause and the outcome of a run have texts', () => {
    expect(startedWords({ cause: 'poll', reason: 'first' })).toBe('found in the tracker');
    expect(startedWords({ cause: 'retry', reason: 'resumed' })).toBe('resumed after a restart of the daemon');
    expect(outcomeWords({ outcome: null, code: null })).toBe('running');
    expect(outcomeWords({ outcome: 'failed', code: 'turn_failed' })).toBe('failed (turn_failed)');
    expect(outcomeWords({ outcome: 'success', code: null, after_run_failed: true })).toBe(
      'finished, but after_run failed',
    );
  });

  test('unknown limits of the account are skipped', () => {
    const primary = { usedPercent: 38, windowDurationMins: 300, resetsAt: 1_800_000_000 };

    expect(agentLimits({ rateLimits: { primary, secondary: { usedPercent: 'much' } } })).toEqual([
      { name: '5 h', used: 0.38, resetsAt: '2027-01-15T08:00:00.000Z' },
    ]);
    expect([null, [], 'x', { primary: null }, { primary: { usedPercent: -1 } }].flatMap(agentLimits)).toEqual([]);
  });
});
