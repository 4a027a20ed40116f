import type { FinishedIssue, RunRecord } from '../domain/durable.js';
import type { StoredPast } from '../domain/ports.js';
import type { LastRun, ReportNote } from './report.js';

/** The records that a report is built from. */
export interface Past {
  /** Includes the last run of each issue that left in the period but ran before it. */
  readonly runs: readonly RunRecord[];
  readonly finished: readonly FinishedIssue[];
  /** The newest run of all. */
  readonly last: LastRun | null;
  readonly notes: readonly ReportNote[];
}

/** As many as fit into memory. */
const MAX_RUNS = 100_000;

/** Reads what a report from `sinceMs` on needs. Throws `store_failed`. */
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

/** Only runs hold the author and the labels of an issue. */
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
