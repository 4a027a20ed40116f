import { describe, expect, test } from 'vitest';
import {
  formatAge,
  formatDuration,
  formatElapsed,
  formatMoment,
  formatRuntime,
  formatTimeLeft,
  localiseTimes,
} from '../../src/text/format-time.js';

const NOW = Date.parse('2026-11-18T12:00:00.000Z');
const NOON = new Date(2026, 10, 18, 12, 5).getTime();

test.each([
  [-5_000, '0 s', '0 s'],
  [0, '0 s', '0 s'],
  [59_999, '59 s', '59 s'],
  [60_000, '1 min', '1 min'],
  [3_599_999, '59 min', '59 min 59 s'],
  [3_600_000, '1 h', '1 h'],
  [11_520_000, '3 h 12 min', '3 h 12 min'],
  [86_400_000, '1 d', '1 d'],
  [187_200_000, '2 d 4 h', '2 d 4 h'],
])('%i ms are %s, in progress %s', (ms, duration, elapsed) => {
  expect(formatDuration(ms)).toBe(duration);
  expect(formatElapsed(ms)).toBe(elapsed);
});

test.each([
  [12, '12 ms'],
  [2_340, '2.3 s'],
  [125_400, '2 min 5 s'],
  [3_660_000, '1 h 1 min'],
])('something that took %i ms took %s', (ms, text) => {
  expect(formatRuntime(ms)).toBe(text);
});

test('an unknown time has no age, and a past time no time left', () => {
  expect([formatAge(null, NOW), formatAge('never', NOW)]).toEqual([null, null]);
  expect(formatTimeLeft(new Date(NOW - 1_000).toISOString(), NOW)).toBeNull();
  expect(formatTimeLeft(new Date(NOW + 200).toISOString(), NOW)).toBe('1 s');
});

test('a moment is local, with the day and the year when they differ', () => {
  expect(formatMoment(NOON, NOON + 3_600_000)).toBe('12:05');
  expect(formatMoment(NOON, NOON + 86_400_000)).toBe('18 Nov 12:05');
  expect(formatMoment(NOON, new Date(2027, 0, 1).getTime())).toBe('18 Nov 2026 12:05');
});

describe('times in a sentence of the daemon', () => {
  const text = `due at ${new Date(NOON).toISOString()}`;

  test('become local, with their distance', () => {
    expect(localiseTimes(text, NOON - 7_900)).toBe('due at 12:05, in 8 s');
    expect(localiseTimes(text, NOON + 125_000)).toBe('due at 12:05, 2 min ago');
  });

  test('stay as they are when they are invalid', () => {
    expect(localiseTimes('not at 2026-99-99T12:00:00Z', NOON)).toBe('not at 2026-99-99T12:00:00Z');
  });
});
