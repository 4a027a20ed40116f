import type { ErrorCode } from './errors.js';
import type { Issue } from './issue.js';
import type { RunAccount, RunCause, RunReason, StopReason } from './run.js';
import type { Answer, Question, RunPhase, TokenTotals } from './run-signal.js';

/** This daemon's right to work on an issue. Everything but `live` is stored. */
export interface Claim {
  readonly issue: Issue;
  /** Consecutive failed runs; drives the backoff. */
  readonly failures: number;
  /** Consecutive normal exits after which the issue had not changed. */
  readonly idleRuns: number;
  /** A probe of this issue failed where another succeeded, so its next daemon-wide error counts against the issue. */
  readonly failedAsProbe: boolean;
  /** Consecutive runs during which the daemon died: it was killed, it crashed, or the machine lost power. */
  readonly daemonDeaths: number;
  readonly status: ClaimStatus;
  readonly live: ClaimLive;
}

export type ClaimStatus = Running | Waiting | Parked;

export interface Running {
  readonly kind: 'running';
  readonly run: RunFacts;
}

export interface Waiting {
  readonly kind: 'waiting';
  readonly sinceMs: number;
  readonly dueAtMs: number;
  /** The reason that the next run will have. */
  readonly reason: RunReason;
  readonly cause: RunCause;
  readonly attempt: number | null;
  readonly error: ClaimError | null;
  /** After a normal exit: the issue's hash when that run began. Another hash means that the run made progress. */
  readonly baseline: string | null;
  /** The issue was read after the exit and had not changed, so `dueAtMs` has the longer delay. */
  readonly foundIdle: boolean;
  readonly resume: ResumeThread | null;
}

export interface Parked {
  readonly kind: 'parked';
  readonly reason: ParkReason;
  readonly sinceMs: number;
  readonly message: string;
  /** The issue's hash when it was parked: another hash frees it. */
  readonly hash: string;
  readonly question: Question | null;
  readonly threadId: string | null;
  /** The run whose processes outlive SIGKILL; it keeps its slot. */
  readonly run: RunFacts | null;
}

export const PARK_REASONS = [
  'too_many_failures',
  'no_progress',
  'budget',
  'input_required',
  'stopped_by_operator',
  'unkillable',
  'daemon_died',
  'configuration',
] as const;
export type ParkReason = (typeof PARK_REASONS)[number];

export interface ResumeThread {
  readonly threadId: string;
  readonly answer: { readonly question: Question; readonly answer: Answer } | null;
  /** When the last run read the comments; absent when unknown. */
  readonly commentsReadAtMs?: number;
}

export interface RunFacts {
  readonly runId: string;
  readonly number: number;
  readonly reason: RunReason;
  readonly attempt: number | null;
  readonly startedAtMs: number;
  /** The issue's hash when the run began. */
  readonly hash: string;
  readonly threadId: string | null;
  readonly resume: ResumeThread | null;
  /** Started under a hold, to find out whether its reason is gone. */
  readonly probe: boolean;
  /** Open questions of the agent, oldest first. Stored, so that they survive the daemon. */
  readonly questions: readonly Question[];
  /** The last answer that this turn of the agent has received. Stored, so that it survives the daemon. */
  readonly answered: ResumeThread['answer'];
  /** What a person has asked of it: `stop`, or to be retried once it has ended. */
  readonly requestedAfterExit: 'stop' | 'retry' | null;
  /** The daemon is shutting down. When it leaves before the run has ended, it has not died. */
  readonly isInShutdown?: true;
  readonly account: RunAccount;
}

export interface ClaimError {
  readonly code: ErrorCode | 'no_slot';
  readonly message: string;
}

/** The part of a claim that is not stored. */
export interface ClaimLive {
  /** The sequence number of the read that brought `issue`. Results of older reads are ignored. */
  readonly issueSeq: number;
  readonly run: LiveRun | null;
  /** Consecutive runs that ended because of the tracker's rate limit. */
  readonly refusals: number;
  /** The tracker refused the token during the last run. */
  readonly isRefusedInRun?: true;
}

export interface LiveRun {
  /** `claiming`: the claim is being stored, and there is no process yet. `left`: an earlier daemon started the run; this one only closes it. */
  readonly stage: 'claiming' | 'started' | 'left';
  readonly persistSeq: number;
  readonly phase: RunPhase;
  /** The step that started last; null before the first, and in a workflow without `steps:`. */
  readonly step: { readonly id: string; readonly kind: string } | null;
  readonly lastProgressAwakeMs: number;
  /** The same time on the wall clock, for display. */
  readonly lastProgressAtMs: number;
  readonly openItems: number;
  /** Set while questions are open. */
  readonly askedAtAwakeMs: number | null;
  readonly askedAtMs: number | null;
  /** Host tool calls in progress. */
  readonly hostCalls: number;
  readonly ownMove: { readonly state: string; readonly awakeMs: number } | null;
  /** The run is stopped for this reason when its grace is over, see reconcile.ts. */
  readonly grace: { readonly untilAwakeMs: number; readonly reason: StopReason } | null;
  readonly stop: StopReason | null;
  readonly session: { readonly threadId: string; readonly turnId: string; readonly turn: number } | null;
  /** From the settings when the run began. A later edit of WORKFLOW.md does not change them. */
  readonly limits: RunLimits;
}

export interface RunLimits {
  readonly stallTimeoutMs: number;
  readonly inputTimeoutMs: number;
  readonly onInputTimeout: 'park' | 'decline';
  readonly finishGraceMs: number;
}

/** Facts about an issue that are kept forever, with or without a claim. */
export interface IssueRecord {
  readonly runs: number;
  /** Tokens spent: input − cached + output. */
  readonly tokens: number;
  /** `tokens` when a person last granted a new budget. */
  readonly budgetFrom: number;
  /** The last threads with their absolute totals, so that the tokens of a resumed thread are not counted twice. */
  readonly threads: readonly { readonly id: string; readonly totals: TokenTotals }[];
  /** The last `after_run` of the issue failed. */
  readonly afterRunFailed?: true;
}

/** What can keep the daemon from starting new runs. */
export const HOLD_SOURCES = ['workflow', 'store', 'tracker', 'disk', 'budget', 'agent'] as const;
export type HoldSource = (typeof HOLD_SOURCES)[number];

export interface Hold {
  readonly code: ErrorCode;
  readonly message: string;
  readonly sinceMs: number;
  /** Failed probes so far. */
  readonly tries: number;
  /** When the next probe may start, or when the hold ends by itself. Null: only an observation ends it. */
  readonly untilMs: number | null;
  /** Issues whose probes failed with the same error, oldest first. */
  readonly probed: readonly string[];
}
