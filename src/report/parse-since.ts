import { startOfDay } from '../text/format-time.js';

export const SINCE_FORMS = 'today, yesterday, 7d, 24h, 2026-11-01 or 2026-11-01T08:30';

/** A report in the morning covers yesterday and the night. */
export const DEFAULT_SINCE = 'yesterday';

type Since = { readonly sinceMs: number } | { readonly problem: string };

/**
 * Parses the start of a report. Days are local and complete: `7d` starts with the day seven days ago, so that `1d` is yesterday. Hours are
 * exact. A time without a zone is local.
 */
export function parseSince(written: string, nowMs: number): Since {
  const sinceMs = timeOf(written.trim().toLowerCase(), nowMs);
  if (sinceMs === null || Number.isNaN(sinceMs)) return { problem: `it must be ${SINCE_FORMS}` };
  return sinceMs > nowMs ? { problem: 'it is in the future' } : { sinceMs };
}

const HOUR_MS = 3_600_000;
const AGO = /^(\d{1,5})([dh])$/;
const TIME = /^(\d{4})-(\d\d)-(\d\d)(?:[t ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(z|[+-]\d\d:?\d\d)?)?$/;

function timeOf(text: string, nowMs: number): number | null {
  if (text === 'today') return startOfDay(nowMs, 0);
  if (text === 'yesterday') return startOfDay(nowMs, 1);
  const [, count, unit] = AGO.exec(text) ?? [];
  if (count !== undefined) return unit === 'd' ? startOfDay(nowMs, Number(count)) : nowMs - Number(count) * HOUR_MS;
  return writtenTime(TIME.exec(text));
}

function writtenTime(match: RegExpExecArray | null): number | null {
  if (match === null) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map((part) => Number(part ?? 0));
  const ms = Math.floor(Number(`0.${match[7] ?? 0}`) * 1_000);
  const utcMs = Date.UTC(year, month - 1, day, hour, minute, second, ms);
  // Date rolls over: a 30 February is a 2 March, and the year 26 is 1926.
  const date = new Date(utcMs);
  const isReal = date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  if (!isReal || hour > 23 || minute > 59 || second > 59) return null;
  const offsetMs = offsetOf(match[8]);
  if (offsetMs !== null) return utcMs - offsetMs;
  return new Date(year, month - 1, day, hour, minute, second, ms).getTime();
}

/** Null without a zone, NaN for an invalid one. */
function offsetOf(zone: string | undefined): number | null {
  if (zone === undefined) return null;
  if (zone === 'z') return 0;
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(-2))];
  if (hours > 14 || minutes > 59) return Number.NaN;
  return (zone.startsWith('-') ? -1 : 1) * (hours + minutes / 60) * HOUR_MS;
}
