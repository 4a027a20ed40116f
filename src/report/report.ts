import type { ErrorCode } from '../domain/errors.js';
import type { Outcome } from '../domain/outcome.js';

/** The ways to group a report. */
export const REPORT_BY = ['issue', 'label', 'author', 'day'] as const;
export type ReportBy = (typeof REPORT_BY)[number];

/** The work, runs and cost of a period. Plain JSON without rounding. */
export interface Report {
  /** From `sinceMs` until just before `untilMs`. A run belongs to the period in which it started. */
  readonly period: { readonly sinceMs: number; readonly untilMs: number };
  readonly by: ReportBy;
  /** Null without prices; then every `cost` is null too. */
  readonly currency: string | null;
  readonly totals: Sums;
  readonly groups: readonly Group[];
  /** Models that spent tokens and have no price, although other models have one. */
  readonly unpriced: readonly UnpricedModel[];
  readonly notes: readonly ReportNote[];
}

export interface Sums {
  readonly issues: IssueCounts;
  readonly runs: RunCounts;
  /** The errors of runs that failed or took too long, the most frequent first. Stopped, interrupted and overtaken runs do not count. */
  readonly failures: readonly { readonly code: ErrorCode; readonly runs: number }[];
  readonly tokens: TokenSums;
  readonly cost: Cost | null;
  /** The duration of all ended runs together. */
  readonly timeMs: number;
}

export interface IssueCounts {
  /** Issues with a run in the period. */
  readonly workedOn: number;
  readonly done: number;
  /** Left the active states without being done, such as for a review. */
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
  /** Runs after a failure. */
  readonly retries: number;
}

export interface TokenSums {
  readonly input: number;
  /** The part of `input` from a cache. */
  readonly cached: number;
  readonly output: number;
  /** Counts against budgets: input − cached + output. */
  readonly billable: number;
}

export interface Cost {
  /** In the currency of the report. */
  readonly amount: number;
  /** Some tokens have no price, so that the cost is higher. */
  readonly isPartial: boolean;
}

/** One line of a report. */
export interface Group extends Sums {
  /** The identifier, label, author or local day; null without a label or with an unknown author. */
  readonly name: string | null;
  /** Only in a report by issue. */
  readonly issue: ReportedIssue | null;
}

export interface ReportedIssue {
  readonly id: string;
  readonly title: string;
  /** The state that it left for; null when it has not left or came back. */
  readonly state: string | null;
  readonly isDone: boolean;
  /** The oldest first. Empty when it left in the period and its runs were before. */
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
  /** Its work may not be pushed. */
  readonly afterRunFailed: boolean;
}

export type RunState = Outcome['state'] | 'running';

export interface UnpricedModel {
  /** Null when the agent did not name it. */
  readonly model: string | null;
  readonly tokens: number;
}

/** Explanations of the numbers. */
export type ReportNote =
  /** Issues with several labels count under each. */
  | { readonly kind: 'overlap' }
  | { readonly kind: 'unpriced'; readonly models: readonly (string | null)[] }
  | { readonly kind: 'no_prices'; readonly why: string }
  /** There were more runs than the limit. */
  | { readonly kind: 'newest_only'; readonly runs: number }
  | { readonly kind: 'nothing_found'; readonly dir: string; readonly last: LastRun | null }
  | { readonly kind: 'no_state'; readonly dir: string };

export interface LastRun {
  readonly identifier: string;
  readonly startedAtMs: number;
}
