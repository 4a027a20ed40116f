import type { Instant } from '../domain/clock.js';

/** A clock that is set back over midnight must not repeat yesterday's report, so that several days are remembered. */
const DAYS_KEPT = 5;

/**
 * When the next daily report is due, at a local time such as `09:00`; a time in the past means now. There is one report for each local day,
 * even when its hour comes twice. A time that daylight saving skips is an hour later.
 */
export function nextReportAtMs(now: Omit<Instant, 'awakeMs'>, reportAt: string, sentDays: readonly string[]): number {
  if (!sentDays.includes(now.day)) return reportTodayMs(now, reportAt);
  const tomorrow = new Date(now.dayEndsAtMs);
  return timeOn(tomorrow.getFullYear(), tomorrow.getMonth(), tomorrow.getDate(), reportAt);
}

export function reportTodayMs({ day, dayEndsAtMs }: Omit<Instant, 'awakeMs'>, reportAt: string): number {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number);
  return Math.min(timeOn(year, month - 1, date, reportAt), dayEndsAtMs - 1);
}

export function withDay(sentDays: readonly string[], day: string): readonly string[] {
  return [...sentDays.filter((one) => one !== day), day].slice(-DAYS_KEPT);
}

function timeOn(year: number, month: number, date: number, reportAt: string): number {
  const [hours = 0, minutes = 0] = reportAt.split(':').map(Number);
  return new Date(year, month, date, hours, minutes).getTime();
}
