import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { wantsColour } from '../../../src/cli/terminal.js';
import { formatBudget, formatTokens } from '../../../src/text/format-numbers.js';
import {
  formatAge,
  formatDuration,
  formatMoment,
  formatTimeLeft,
  localiseTimes,
} from '../../../src/text/format-time.js';
import { cut, oneLine, pad, widthOf, wrap } from '../../../src/text/terminal-text.js';
import { ago, NOW } from './sample-state.js';

describe('a text that must fit', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 80 });

  test('is never wider than its place', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 60 }), (any, columns) => {
        expect(widthOf(cut(any, columns))).toBeLessThanOrEqual(columns);
        expect(widthOf(pad(any, columns))).toBeLessThanOrEqual(columns + 1);
      }),
    );
  });

  test('that is broken keeps its words, within its lines', () => {
    fc.assert(
      fc.property(
        text.map(oneLine),
        fc.integer({ min: 2, max: 60 }),
        fc.integer({ min: 1, max: 5 }),
        (any, columns, lines) => {
          const rows = wrap(any, columns, lines);

          expect(rows.length).toBeLessThanOrEqual(lines);
          expect(rows.every((row) => widthOf(row) <= columns)).toBe(true);
          if (!rows.at(-1)?.endsWith('…')) expect(rows.join('').replaceAll(' ', '')).toBe(any.replaceAll(' ', ''));
        },
      ),
    );
  });

  test('is cut with a sign that it was', () => {
    expect(cut('a long title', 7)).toBe('a long…');
    expect(cut('short', 7)).toBe('short');
    expect(wrap('one two three four five', 9, 2)).toEqual(['one two', 'three fo…']);
  });

  test('counts what is wide twice', () => {
    expect(widthOf('Grüße, мир')).toBe(10);
    expect(widthOf('漢字')).toBe(4);
    expect(pad('漢', 4)).toBe('漢  ');
  });
});

describe('times', () => {
  test.each([
    [0, '0 s'],
    [-5_000, '0 s'],
    [59_999, '59 s'],
    [60_000, '1 min'],
    [3_599_999, '59 min'],
    [3_600_000, '1 h'],
    [11_520_000, '3 h 12 min'],
    [86_400_000, '1 d'],
    [187_200_000, '2 d 4 h'],
  ])('%i ms are %s', (ms, words) => {
    expect(formatDuration(ms)).toBe(words);
  });

  test('what is not known is not said, nor what has passed', () => {
    expect(formatAge(null, NOW)).toBeNull();
    expect(formatAge('never', NOW)).toBeNull();
    expect(formatTimeLeft(ago(1), NOW)).toBeNull();
    expect(formatTimeLeft(ago(-0.2), NOW)).toBe('1 s');
  });

  test('are of the clock on the wall, with the day where it is another', () => {
    const noon = new Date(2026, 10, 18, 12, 5).getTime();

    expect(formatMoment(noon, noon + 3_600_000)).toBe('12:05');
    expect(formatMoment(noon, noon + 86_400_000)).toBe('18 Nov 12:05');
    expect(formatMoment(noon, new Date(2027, 0, 1).getTime())).toBe('18 Nov 2026 12:05');
    expect(localiseTimes('not at 2026-99-99T12:00:00Z', noon)).toBe('not at 2026-99-99T12:00:00Z');
  });

  test('in a sentence say how long that is, too', () => {
    const noon = new Date(2026, 10, 18, 12, 5).getTime();
    const text = `due at ${new Date(noon).toISOString()}`;

    expect(localiseTimes(text, noon - 7_900)).toBe('due at 12:05, in 8 s');
    expect(localiseTimes(text, noon + 125_000)).toBe('due at 12:05, 2 min ago');
  });
});

test.each([
  [0, '0'],
  [999, '999'],
  [1_000, '1k'],
  [12_345, '12.3k'],
  [123_456, '123k'],
  [999_499, '999k'],
  [999_500, '1M'],
  [1_234_567, '1.2M'],
  [123_456_789, '123M'],
])('%i tokens are %s', (count, words) => {
  expect(formatTokens(count)).toBe(words);
});

test('a budget without a limit is what was spent', () => {
  expect(formatBudget({ spent: 5, limit: null })).toBe('5 tokens');
  expect(formatBudget({ spent: 5, limit: 1_000 })).toBe('5 of 1k tokens');
});

test.each([
  [true, {}, true],
  [false, {}, false],
  [true, { NO_COLOR: '1' }, false],
  [true, { NO_COLOR: '' }, true],
  [true, { TERM: 'dumb' }, false],
])('colour on a terminal (%s) with %o: %s', (isTTY, env, wanted) => {
  expect(wantsColour({ stdout: { isTTY }, env })).toBe(wanted);
});
