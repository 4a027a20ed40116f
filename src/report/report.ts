import type { ErrorCode } from '../domain/errors.js';
import type { Outcome } from '../domain/outcome.js';

/** What a report can be broken down by. */
export const REPORT_BY = ['issue', 'label', 'author', 'day'] as const;
export type ReportBy = (typeof REPORT_BY)[number];

/** What was done in a period, by which runs, at what cost. Plain JSON; nothing in it is rounded. */
export interface Report {
  /** From `sinceMs` until just before `untilMs`. A run belongs to the period in which it began. */
  readonly period: { readonly sinceMs: number; readonly untilMs: number };
  readonly by: ReportBy;
  /** `null`: there are no prices, and every `cost` is `null` too. */
  readonly currency: string | null;
  readonly totals: Sums;
  readonly groups: readonly Group[];
  /** Models that spent tokens and have no price, although there are prices. */
  readonly unpriced: readonly UnpricedModel[];
  readonly notes: readonly ReportNote[];
}

export interface Sums {
  readonly issues: IssueCounts;
  readonly runs: RunCounts;
  /** Why runs failed or took too long, the most frequent first. Runs that were stopped, interrupted or overtaken are none of them. */
  readonly failures: readonly { readonly code: ErrorCode; readonly runs: number }[];
  readonly tokens: TokenSums;
  readonly cost: Cost | null;
  /** From start to end, of all runs that have ended. */
  readonly timeMs: number;
}

export interface IssueCounts {
  /** Issues with a run in the period. */
  readonly workedOn: number;
  readonly done: number;
  /** Left the active states without being done, as for a review. */
  readonly handedOver: number;
}

export interface RunCounts {
  readonly all: number;
  readonly success: number;
  readonly failed: number;
  readonly timeout: number;
  readonly cancelled: number;
  /** Not ended yet. */
  readonly running: number;
  /** How many of all came after a failure. */
  readonly retries: number;
}

export interface TokenSums {
  readonly input: number;
  /** The part of `input` that came from a cache. */
  readonly cached: number;
  readonly output: number;
  /** What counts against budgets: input − cached + output. */
  readonly billable: number;
}

export interface Cost {
  /** In the currency of the report. */
  readonly amount: number;
  /** Some of the tokens have no price: it is at least that much. */
  readonly isPartial: boolean;
}

/** One line of the breakdown. */
export interface Group extends Sums {
  /** The identifier, label, author or local day; `null`: no label, or an author whom nobody told. */
  readonly name: string | null;
  /** By issue only. */
  readonly issue: ReportedIssue | null;
}

export interface ReportedIssue {
  readonly id: string;
  readonly title: string;
  /** Where it went; `null`: it has not left our hands, or is back in them. */
  readonly state: string | null;
  readonly isDone: boolean;
  /** The oldest first. Empty: it left in the period, and its runs were before. */
  readonly runs: readonly ReportedRun[];
}

export interface ReportedRun {
  readonly id: string;
  readonly number: number;
  readonly startedAtMs: number;
  readonly endedAtMs: number | null;
  readonly outcome: RunState;
  readonly code: ErrorCode | null;
  readonly model: string | null;
  readonly tokens: TokenSums;
}

export type RunState = Outcome['state'] | 'running';

export interface UnpricedModel {
  /** `null`: the agent did not name it. */
  readonly model: string | null;
  readonly tokens: number;
}

/** What a reader must know besides the numbers. */
export type ReportNote =
  /** Issues with several labels count under each. */
  | { readonly kind: 'overlap' }
  | { readonly kind: 'unpriced'; readonly models: readonly (string | null)[] }
  | { readonly kind: 'no_prices'; readonly why: string }
  /** There were more than could be counted. */
  | { readonly kind: 'newest_only'; readonly runs: number }
  | { readonly kind: 'nothing_found'; readonly dir: string; readonly last: LastRun | null }
  | { readonly kind: 'no_state'; readonly dir: string };

export interface LastRun {
  readonly identifier: string;
  readonly startedAtMs: number;
}
