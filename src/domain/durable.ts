import type { Claim, Hold, HoldSource, IssueRecord } from './claim.js';
import type { FinishedIssue } from './finished.js';
import type { RunRecord } from './run-record.js';
import type { TokenTotals } from './runtime-event.js';

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
