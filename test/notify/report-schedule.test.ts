import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { createClock } from '../../src/clock.js';
import { nextReportAtMs, withDay } from '../../src/notify/report-schedule.js';

const ZONE = process.env.TZ;

afterEach(() => {
  if (ZONE === undefined) delete process.env.TZ;
  else process.env.TZ = ZONE;
});

/** The instant of a wall clock in the zone of this process. */
function instant(wallMs: number) {
  const clock = createClock({ wallNow: () => wallMs });
  const now = clock.now();
  clock.close();
  return now;
}

const local = (text: string) => instant(new Date(text).getTime());
const shown = (ms: number) => {
  const date = new Date(ms);
  return `${date.getDate()} ${String(date.getHours()).padStart(2, '0')}:${String(date.getMinutes()).padStart(2, '0')}`;
};

describe('the daily report', () => {
  test('is due at its time of the day, and after it until the day ends', () => {
    process.env.TZ = 'Europe/Berlin';

    expect(shown(nextReportAtMs(local('2026-06-10T07:00:00'), '09:00', []))).toBe('10 09:00');
    const late = local('2026-06-10T23:00:00');
    expect(nextReportAtMs(late, '09:00', [])).toBeLessThan(late.wallMs);
  });

  test('is due tomorrow once it was sent today, whatever came before', () => {
    process.env.TZ = 'Europe/Berlin';
    const now = local('2026-06-30T09:00:01');

    expect(shown(nextReportAtMs(now, '09:00', ['2026-06-29', '2026-06-30']))).toBe('1 09:00');
    expect(shown(nextReportAtMs(now, '09:00', ['2026-06-29']))).toBe('30 09:00');
  });

  test.each([
    ['Europe/Berlin', '2026-03-28T12:00:00', '09:00', '29 09:00'],
    ['Europe/Berlin', '2026-03-28T12:00:00', '02:30', '29 03:30'],
    ['Europe/Berlin', '2026-10-24T12:00:00', '02:30', '25 02:30'],
    ['America/New_York', '2026-11-01T00:30:00', '23:59', '2 23:59'],
  ])('keeps to the local time over a change of the clocks in %s (%s, %s)', (zone, from, reportAt, expected) => {
    process.env.TZ = zone;
    const now = local(from);

    expect(shown(nextReportAtMs(now, reportAt, [now.day]))).toBe(expected);
  });

  test('an hour that comes twice brings one report', () => {
    process.env.TZ = 'Europe/Berlin';
    const first = nextReportAtMs(local('2026-10-25T00:00:00'), '02:30', []);
    const hourLater = instant(first + 3_600_000);

    expect(shown(hourLater.wallMs)).toBe('25 02:30');
    expect(shown(nextReportAtMs(hourLater, '02:30', [hourLater.day]))).toBe('26 02:30');
  });

  test('a clock that is set back over midnight repeats no report', () => {
    process.env.TZ = 'UTC';
    const days = withDay(withDay([], '2026-06-10'), '2026-06-11');

    expect(shown(nextReportAtMs(local('2026-06-10T23:59:00'), '00:05', days))).toBe('11 00:05');
    expect(shown(nextReportAtMs(local('2026-06-11T00:05:00'), '00:05', days))).toBe('12 00:05');
  });

  test('in any time zone, an hourly check finds exactly one report for each day', () => {
    const zones = fc.constantFrom('Europe/Berlin', 'America/Sao_Paulo', 'Asia/Beirut', 'Australia/Lord_Howe', 'UTC');
    const two = (value: number) => String(value).padStart(2, '0');
    const time = fc.tuple(fc.nat(21), fc.nat(59)).map(([hours, minutes]) => `${two(hours)}:${two(minutes)}`);
    const start = fc.integer({ min: Date.UTC(2014, 0, 1), max: Date.UTC(2027, 0, 1) });
    const gaps = fc.array(fc.integer({ min: 1_800_000, max: 3_600_000 }), { minLength: 60, maxLength: 120 });

    fc.assert(
      fc.property(zones, time, start, gaps, (zone, reportAt, startMs, steps) => {
        process.env.TZ = zone;
        let [ms, days] = [startMs, [] as readonly string[]];
        const sent: string[] = [];
        const seen = new Set<string>();
        for (const step of steps) {
          const now = instant(ms);
          seen.add(now.day);
          if (nextReportAtMs(now, reportAt, days) <= now.wallMs) {
            sent.push(now.day);
            days = withDay(days, now.day);
          }
          ms += step;
        }
        const whole = [...seen].slice(1, -1);
        expect(new Set(sent).size).toBe(sent.length);
        expect(sent).toEqual(expect.arrayContaining(whole));
      }),
    );
  });
});
