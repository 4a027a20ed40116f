import type { Claim, Hold, HoldSource, IssueRecord } from './claim.js';
import type { ErrorCode } from './errors.js';
import type { Outcome } from './outcome.js';
import type { RunAccount, RunReason } from './run.js';
import type { TokenTotals } from './run-signal.js';

/** The part of the state that is stored. */
export interface Durable {
  readonly claims: { readonly [issueId: string]: DurableClaim };
  readonly records: { readonly [issueId: string]: IssueRecord };
  readonly holds: { readonly [source in HoldSource]?: Hold };
  readonly pausedSinceMs: number | null;
  readonly ledger: Ledger;
  /** The latest ones, oldest first. */
  readonly finished: readonly FinishedIssue[];
}

/** Tokens by local day (`YYYY-MM-DD`). Several days are kept, so that a clock that is set to tomorrow and back does not lose today. */
export type Ledger = { readonly [day: string]: DayLedger };
export const LEDGER_DAYS = 7;

export interface DayLedger {
  /** Of all issues. */
  readonly tokens: number;
  readonly issues: { readonly [issueId: string]: Spending };
}

export interface Spending extends TokenTotals {
  /** What counts against budgets: input − cached + output. */
  readonly tokens: number;
}

export type DurableClaim = Omit<Claim, 'live'>;

/** A change to store. Null deletes. `full` deletes every claim and record that is not listed; runs, ledger and finished issues only grow. */
export interface DurableChange {
  readonly full: boolean;
  readonly claims: { readonly [issueId: string]: DurableClaim | null };
  readonly records: { readonly [issueId: string]: IssueRecord };
  readonly holds: Durable['holds'];
  readonly pausedSinceMs: number | null;
  /** Only the changed entries. */
  readonly ledger: Ledger;
  readonly runs: readonly RunRecord[];
  /** Only the new ones. */
  readonly finished: readonly FinishedIssue[];
}

/** An issue that Baton has worked on and released: done, or handed over to people. */
export interface FinishedIssue {
  readonly issueId: string;
  readonly identifier: string;
  readonly title: string;
  readonly url: string | null;
  /** The state that it moved to. */
  readonly state: string;
  /** False: it left the active states without being done, such as for a review. */
  readonly isTerminal: boolean;
  readonly atMs: number;
  /** Totals of the issue at that time. */
  readonly runs: number;
  readonly tokens: number;
  /** Its last `after_run` failed, so its work may not be pushed. */
  readonly afterRunFailed?: true;
}

/** How many the state holds. The store has all of them. */
export const FINISHED_KEPT = 200;

/** An issue that leaves twice without a run in between counts once. */
export function finishedKey({ issueId, runs }: FinishedIssue): string {
  return `${runs}:${issueId}`;
}

/** The permanent record of a run. */
export interface RunRecord extends RunAccount {
  readonly runId: string;
  readonly issueId: string;
  readonly identifier: string;
  readonly title: string;
  readonly author: string | null;
  readonly labels: readonly string[];
  readonly number: number;
  readonly reason: RunReason;
  readonly attempt: number | null;
  readonly threadId: string | null;
  readonly startedAtMs: number;
  /** Null while the run goes on. */
  readonly end: RunEnd | null;
}

export interface RunEnd {
  readonly atMs: number;
  readonly outcome: Outcome['state'];
  readonly code: ErrorCode | null;
  readonly message: string | null;
  readonly afterRunFailed?: true;
}
