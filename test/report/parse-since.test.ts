import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { DEFAULT_SINCE, parseSince, SINCE_FORMS } from '../../src/report/parse-since.js';
import { localDay, localTime } from '../../src/text/format-time.js';

const zone = process.env.TZ;
afterEach(() => {
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});

function since(text: string, now: string): string {
  const parsed = parseSince(text, Date.parse(now));
  return 'problem' in parsed ? parsed.problem : new Date(parsed.sinceMs).toISOString().replace('.000Z', 'Z');
}

describe('--since', () => {
  test.each([
    ['UTC', 'today', '2026-11-17T09:12:00Z', '2026-11-17T00:00:00Z'],
    ['UTC', 'yesterday', '2026-11-17T09:12:00Z', '2026-11-16T00:00:00Z'],
    ['UTC', ' Yesterday ', '2026-11-17T00:00:00Z', '2026-11-16T00:00:00Z'],
    ['UTC', '24h', '2026-11-17T09:12:00Z', '2026-11-16T09:12:00Z'],
    ['UTC', '7d', '2026-11-17T09:12:00Z', '2026-11-10T00:00:00Z'],
    ['UTC', '0d', '2026-11-17T09:12:00Z', '2026-11-17T00:00:00Z'],
    ['UTC', '2026-11-01', '2026-11-17T09:12:00Z', '2026-11-01T00:00:00Z'],
    ['UTC', '2026-11-01T08:30', '2026-11-17T09:12:00Z', '2026-11-01T08:30:00Z'],
    ['UTC', '2026-11-01 08:30:15', '2026-11-17T09:12:00Z', '2026-11-01T08:30:15Z'],
    ['UTC', '2026-11-01T08:30:15.250Z', '2026-11-17T09:12:00Z', '2026-11-01T08:30:15.250Z'],
    ['UTC', '2026-11-01T08:30:00+05:45', '2026-11-17T09:12:00Z', '2026-11-01T02:45:00Z'],
    ['UTC', '2026-11-01T08:30-0330', '2026-11-17T09:12:00Z', '2026-11-01T12:00:00Z'],
    // Local days, not those of UTC.
    ['Asia/Kathmandu', 'today', '2026-11-16T18:15:00Z', '2026-11-16T18:15:00Z'],
    ['America/New_York', 'yesterday', '2026-11-17T04:59:00Z', '2026-11-15T05:00:00Z'],
    ['America/New_York', '2026-11-01T08:30', '2026-11-17T09:12:00Z', '2026-11-01T13:30:00Z'],
    ['America/New_York', '2026-11-01T08:30Z', '2026-11-17T09:12:00Z', '2026-11-01T08:30:00Z'],
    // Ends of months and years, and a leap year.
    ['UTC', 'yesterday', '2026-03-01T09:00:00Z', '2026-02-28T00:00:00Z'],
    ['UTC', 'yesterday', '2028-03-01T09:00:00Z', '2028-02-29T00:00:00Z'],
    ['UTC', 'yesterday', '2027-01-01T09:00:00Z', '2026-12-31T00:00:00Z'],
    ['UTC', '31d', '2026-03-31T09:00:00Z', '2026-02-28T00:00:00Z'],
    ['UTC', '2028-02-29', '2028-03-01T09:00:00Z', '2028-02-29T00:00:00Z'],
    // Days of 23 and 25 hours; a midnight that did not exist; a day that was left out.
    ['Europe/Berlin', 'yesterday', '2026-03-30T10:00:00Z', '2026-03-28T23:00:00Z'],
    ['Europe/Berlin', 'today', '2026-03-29T10:00:00Z', '2026-03-28T23:00:00Z'],
    ['Europe/Berlin', 'yesterday', '2026-10-26T10:00:00Z', '2026-10-24T22:00:00Z'],
    ['Europe/Berlin', '24h', '2026-03-29T10:00:00Z', '2026-03-28T10:00:00Z'],
    ['Europe/Berlin', '7d', '2026-04-01T10:00:00Z', '2026-03-24T23:00:00Z'],
    ['America/Sao_Paulo', 'today', '2018-11-04T12:00:00Z', '2018-11-04T03:00:00Z'],
    ['Pacific/Apia', '2011-12-29', '2011-12-31T20:00:00Z', '2011-12-29T10:00:00Z'],
  ])('in %s, %j at %s is %s', (timeZone, text, now, expected) => {
    process.env.TZ = timeZone;

    expect(since(text, now)).toBe(expected);
  });

  test.each([
    ...[
      '',
      'tomorrow',
      'week',
      '7',
      'd',
      '-1d',
      '7w',
      '1.5h',
      '7 d',
      '1234567d',
      '999999999h',
      '2026',
      '2026-11',
      '11/01/2026',
    ],
    ...['2026-02-29', '2026-02-30', '2026-04-31', '2026-13-01', '2026-00-10', '2026-11-00', '0026-11-01'],
    ...['2026-11-01T24:00', '2026-11-01T08:60', '2026-11-01T08:30:60', '2026-11-01T8:30', '2026-11-01T08'],
    ...['2026-11-01T08:30+15:00', '2026-11-01T08:30+02', '2026-11-01Z', 'today yesterday', '__proto__'],
  ])('%j is refused with the list of forms', (text) => {
    expect(since(text, '2026-11-17T09:12:00Z')).toBe(`it must be ${SINCE_FORMS}`);
  });

  test.each(['2026-11-17T09:13Z', '2027-01-01'])('%j is in the future', (text) => {
    expect(since(text, '2026-11-17T09:12:00Z')).toBe('it is in the future');
  });

  test('accepts each of the documented forms and its default', () => {
    const forms = SINCE_FORMS.split(/, | or /);

    expect(forms).toHaveLength(6);
    for (const form of [...forms, DEFAULT_SINCE]) {
      expect(parseSince(form, Date.UTC(2026, 10, 17)), form).toHaveProperty('sinceMs');
    }
  });

  test('in days starts with a day, as the date of that day does, in every time zone and season', () => {
    const zones = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'Australia/Lord_Howe');
    const times = fc.integer({ min: Date.UTC(2000, 0, 1), max: Date.UTC(2040, 0, 1) });
    fc.assert(
      fc.property(zones, times, fc.nat({ max: 800 }), (timeZone, nowMs, days) => {
        process.env.TZ = timeZone;
        const parsed = parseSince(`${days}d`, nowMs);
        const sinceMs = 'problem' in parsed ? Number.NaN : parsed.sinceMs;
        const [year = 0, month = 0, day = 0] = localDay(nowMs).split('-').map(Number);

        expect(localDay(sinceMs)).toBe(new Date(Date.UTC(year, month - 1, day - days)).toISOString().slice(0, 10));
        expect(localDay(sinceMs - 1)).not.toBe(localDay(sinceMs));
        expect(parseSince(localDay(sinceMs), nowMs)).toEqual({ sinceMs });
      }),
    );
  });

  test('as a local time is not changed', () => {
    process.env.TZ = 'Europe/Berlin';
    const parsed = parseSince('2026-07-01 06:05', Date.UTC(2026, 10, 17));

    expect('sinceMs' in parsed && localTime(parsed.sinceMs)).toBe('2026-07-01 06:05');
  });
});
