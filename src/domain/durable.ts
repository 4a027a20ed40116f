import type { Claim, Hold, HoldSource, IssueRecord } from './claim.js';

/** The part of the state that outlives the process. */
export interface Durable {
  readonly claims: { readonly [issueId: string]: DurableClaim };
  readonly records: { readonly [issueId: string]: IssueRecord };
  readonly holds: { readonly [source in HoldSource]?: Hold };
  readonly pausedSinceMs: number | null;
  readonly ledger: Ledger;
}

/** Tokens of the current local day. */
export interface Ledger {
  readonly day: string;
  readonly tokens: number;
}

export type DurableClaim = Omit<Claim, 'live'>;

/** What to write. `null` deletes. `full`: forget everything that is not in here. */
export interface DurableChange {
  readonly full: boolean;
  readonly claims: { readonly [issueId: string]: DurableClaim | null };
  readonly records: { readonly [issueId: string]: IssueRecord };
  readonly holds: Durable['holds'];
  readonly pausedSinceMs: number | null;
  readonly ledger: Ledger;
}
