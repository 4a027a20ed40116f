import type { FinishedIssue, RunRecord } from '../domain/durable.js';
import type { StoredPast } from '../domain/ports.js';
import { startOfDay } from '../text/format-time.js';
import type { LastRun, ReportNote } from './report.js';

/** What a report is made of. */
export interface Past {
  /** Also the last run of each issue that left in the period and ran before it. */
  readonly runs: readonly RunRecord[];
  readonly finished: readonly FinishedIssue[];
  /** The newest of all. */
  readonly last: LastRun | null;
  readonly notes: readonly ReportNote[];
}

/** More than anybody reads, and no more than fits into memory. */
const MAX_RUNS = 100_000;

/** Throws `store_failed`. */
export async function pastSince(past: StoredPast, sinceMs: number, maxRuns = MAX_RUNS): Promise<Past> {
  const runs = await past.runs({ sinceMs, limit: maxRuns });
  const finished = await past.finished({ sinceMs, limit: maxRuns });
  const [newest] = runs.length > 0 ? runs : await past.runs({ limit: 1 });
  return {
    runs: [...runs, ...(await runsBefore(past, runs, finished))],
    finished,
    last: newest === undefined ? null : { identifier: newest.identifier, startedAtMs: newest.startedAtMs },
    notes: runs.length < maxRuns ? [] : [{ kind: 'newest_only', runs: maxRuns }],
  };
}

/** Author and labels of an issue are known from its runs alone. */
async function runsBefore(
  past: StoredPast,
  runs: readonly RunRecord[],
  finished: readonly FinishedIssue[],
): Promise<RunRecord[]> {
  const known = new Set(runs.map(({ issueId }) => issueId));
  const missing = new Set(finished.map(({ issueId }) => issueId).filter((id) => !known.has(id)));
  const found: RunRecord[] = [];
  for (const issue of missing) {
    const [last] = await past.runs({ issue, limit: 1 });
    if (last?.issueId === issue) found.push(last);
  }
  return found;
}

export const SINCE_FORMS = 'today, yesterday, 7d, 24h, 2026-11-01 or 2026-11-01T08:30';

/** What a person wants in the morning: yesterday, the night, and what is done already. */
export const DEFAULT_SINCE = 'yesterday';

type Since = { readonly sinceMs: number } | { readonly problem: string };

/**
 * When a report begins. Days are local and whole: `7d` begins with the day seven days ago, so that `1d` is yesterday; hours are
 * hours. A time without a zone is local.
 */
export function parseSince(written: string, nowMs: number): Since {
  const sinceMs = timeOf(written.trim().toLowerCase(), nowMs);
  if (sinceMs === null || Number.isNaN(sinceMs)) return { problem: `it must be ${SINCE_FORMS}` };
  return sinceMs > nowMs ? { problem: 'that is yet to come' } : { sinceMs };
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
  // The calendar rolls over: a 30 February is a 2 March, and the year 26 is 1926.
  const date = new Date(utcMs);
  const isReal = date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  if (!isReal || hour > 23 || minute > 59 || second > 59) return null;
  const offsetMs = offsetOf(match[8]);
  if (offsetMs !== null) return utcMs - offsetMs;
  return new Date(year, month - 1, day, hour, minute, second, ms).getTime();
}

/** `null`: none is written. Not a number: there is no such zone. */
function offsetOf(zone: string | undefined): number | null {
  if (zone === undefined) return null;
  if (zone === 'z') return 0;
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(-2))];
  if (hours > 14 || minutes > 59) return Number.NaN;
  return (zone.startsWith('-') ? -1 : 1) * (hours + minutes / 60) * HOUR_MS;
}
