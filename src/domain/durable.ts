import type { Claim, Hold, HoldSource, IssueRecord } from './claim.js';
import type { ErrorCode } from './errors.js';
import type { Outcome } from './outcome.js';
import type { RunAccount, RunReason } from './run.js';
import type { TokenTotals } from './run-signal.js';

/** The part of the state that outlives the process. */
export interface Durable {
  readonly claims: { readonly [issueId: string]: DurableClaim };
  readonly records: { readonly [issueId: string]: IssueRecord };
  readonly holds: { readonly [source in HoldSource]?: Hold };
  readonly pausedSinceMs: number | null;
  readonly ledger: Ledger;
  /** The last ones, the oldest first. */
  readonly finished: readonly FinishedIssue[];
}

/** Tokens by local day (`YYYY-MM-DD`), of the last days only: a clock that is set to tomorrow and back must not forget today. */
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

/** What to write. `null` deletes. `full`: forget every claim and record that is not in here; runs, ledger and finished issues only grow. */
export interface DurableChange {
  readonly full: boolean;
  readonly claims: { readonly [issueId: string]: DurableClaim | null };
  readonly records: { readonly [issueId: string]: IssueRecord };
  readonly holds: Durable['holds'];
  readonly pausedSinceMs: number | null;
  /** The entries that changed. */
  readonly ledger: Ledger;
  readonly runs: readonly RunRecord[];
  /** Those that are new. */
  readonly finished: readonly FinishedIssue[];
}

/** An issue that Baton had runs on and that has left its hands: done, or handed over to people. */
export interface FinishedIssue {
  readonly issueId: string;
  readonly identifier: string;
  readonly title: string;
  readonly url: string | null;
  /** Where it went. */
  readonly state: string;
  /** `false`: it left the active states without being done, as for a review. */
  readonly isTerminal: boolean;
  readonly atMs: number;
  /** Of the issue, up to then. */
  readonly runs: number;
  readonly tokens: number;
}

/** What the state keeps of them; the store has them all. */
export const FINISHED_KEPT = 200;

/** One that leaves twice without a run in between has left once. */
export function finishedKey({ issueId, runs }: FinishedIssue): string {
  return `${runs}:${issueId}`;
}

/** A run, told for good: who caused it, on what, with what, at what cost, and how it ended. */
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
  /** `null`: it has not ended yet. */
  readonly end: RunEnd | null;
}

export interface RunEnd {
  readonly atMs: number;
  readonly outcome: Outcome['state'];
  readonly code: ErrorCode | null;
  readonly message: string | null;
}
