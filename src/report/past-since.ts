import type { FinishedIssue } from '../domain/finished.js';
import type { StoredPast } from '../domain/ports.js';
import type { RunRecord } from '../domain/run-record.js';
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
