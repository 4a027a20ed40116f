import type { Instant } from '../domain/clock.js';

/** Days that are remembered: a clock that is set back over midnight must not bring yesterday's report again. */
const DAYS_KEPT = 5;

/**
 * When the next daily report is due, at a local time such as `09:00`; a time in the past: now. Once for each local day, however long
 * the day is and however often its hour comes. A time that daylight saving leaves out is an hour later.
 */
export function nextReportAtMs(now: Omit<Instant, 'awakeMs'>, reportAt: string, toldDays: readonly string[]): number {
  if (!toldDays.includes(now.day)) return reportTodayMs(now, reportAt);
  const tomorrow = new Date(now.dayEndsAtMs);
  return timeOn(tomorrow.getFullYear(), tomorrow.getMonth(), tomorrow.getDate(), reportAt);
}

export function reportTodayMs({ day, dayEndsAtMs }: Omit<Instant, 'awakeMs'>, reportAt: string): number {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number);
  return Math.min(timeOn(year, month - 1, date, reportAt), dayEndsAtMs - 1);
}

export function withDay(toldDays: readonly string[], day: string): readonly string[] {
  return [...toldDays.filter((one) => one !== day), day].slice(-DAYS_KEPT);
}

function timeOn(year: number, month: number, date: number, reportAt: string): number {
  const [hours = 0, minutes = 0] = reportAt.split(':').map(Number);
  return new Date(year, month, date, hours, minutes).getTime();
}
