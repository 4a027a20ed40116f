import type { PricingConfig } from '../domain/config.js';
import { ERRORS } from '../domain/error-table.js';
import type { ErrorCode } from '../domain/errors.js';
import type { FinishedIssue } from '../domain/finished.js';
import type { RunRecord } from '../domain/run-record.js';
import { compareNames, costOf, tokensOf } from './price-tokens.js';
import type { RunCounts, RunState, Sums } from './report.js';

/** Runs, and issues that have left, which stand in one line of a report. */
export interface Bucket {
  readonly runs: readonly RunRecord[];
  readonly finished: readonly FinishedIssue[];
}

export function sumUp({ runs, finished }: Bucket, pricing: PricingConfig | null): Sums {
  const done = finished.filter(({ isTerminal }) => isTerminal).length;
  return {
    issues: {
      workedOn: new Set(runs.map(({ issueId }) => issueId)).size,
      done,
      handedOver: finished.length - done,
    },
    runs: countRuns(runs),
    failures: failuresOf(runs),
    tokens: tokensOf(runs),
    cost: costOf(runs, pricing),
    timeMs: runs.reduce((sum, run) => sum + timeOf(run), 0),
  };
}

/**
 * A run that somebody stopped, or that was overtaken or interrupted, is stopped and nothing else; one that we had to end because
 * something was wrong with it has failed. So failures are just the runs that failed or took too long.
 */
export function stateOf({ end }: RunRecord): RunState {
  if (end === null) return 'running';
  if (end.code === null || end.outcome === 'success') return end.outcome;
  if (isStop(end.code)) return 'cancelled';
  return end.outcome === 'cancelled' ? 'failed' : end.outcome;
}

function isStop(code: ErrorCode): boolean {
  return code === 'STOPPED_BY_OPERATOR' || ERRORS[code].scope === 'none';
}

function countRuns(runs: readonly RunRecord[]): RunCounts {
  const of = (state: RunState) => runs.filter((run) => stateOf(run) === state).length;
  return {
    all: runs.length,
    success: of('success'),
    failed: of('failed'),
    timeout: of('timeout'),
    cancelled: of('cancelled'),
    running: of('running'),
    retries: runs.filter(({ reason }) => reason === 'retry').length,
  };
}

function failuresOf(runs: readonly RunRecord[]): Sums['failures'] {
  const counts = new Map<ErrorCode, number>();
  for (const run of runs) {
    const code = run.end?.code ?? null;
    if (code !== null && ['failed', 'timeout'].includes(stateOf(run))) counts.set(code, (counts.get(code) ?? 0) + 1);
  }
  return [...counts]
    .map(([code, count]) => ({ code, runs: count }))
    .sort((a, b) => b.runs - a.runs || compareNames(a.code, b.code));
}

/**
 * A run that has not ended may be at work, or its daemon may be dead since last week: its time is not known. A clock that was set
 * back gives no time back.
 */
function timeOf({ startedAtMs, end }: RunRecord): number {
  return end === null ? 0 : Math.max(0, end.atMs - startedAtMs);
}
