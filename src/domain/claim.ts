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
  /** What the next run will be, should it come to it. */
  readonly reason: RunReason;
  readonly cause: RunCause;
  readonly attempt: number | null;
  readonly error: ClaimError | null;
  /** After a normal exit: the issue's hash when that run began, to see whether the run changed anything. */
  readonly baseline: string | null;
  /** The issue was read after the exit and had not changed: `dueAtMs` is the longer delay. */
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
  /** Started under a hold, to see whether its reason is gone. */
  readonly probe: boolean;
  /** What its agent waits for, the oldest first. Stored: a daemon that ends takes no question along. */
  readonly questions: readonly Question[];
  /** The last answer of a person that this turn of the agent has: the end of the daemon must not lose it. */
  readonly answered: ResumeThread['answer'];
  /** What a person has asked of it: `stop`, or to be retried once it has ended. */
  readonly requestedAfterExit: 'stop' | 'retry' | null;
  readonly account: RunAccount;
}

export interface ClaimError {
  readonly code: ErrorCode | 'no_slot';
  readonly message: string;
}

/** What a restart forgets. */
export interface ClaimLive {
  /** The read that brought `issue`; an older answer that arrives later is ignored. */
  readonly issueSeq: number;
  readonly run: LiveRun | null;
  /** Runs in a row that ended because the tracker limits our requests. */
  readonly refusals: number;
  /** Its last run had begun when the tracker refused our token. */
  readonly isRefusedInRun?: true;
}

export interface LiveRun {
  /** `claiming`: its claim is being stored, no process yet. `left`: an earlier daemon began it; only its end is awaited. */
  readonly stage: 'claiming' | 'started' | 'left';
  readonly persistSeq: number;
  readonly phase: RunPhase;
  /** The step that was begun last; `null`: none yet, or a workflow without `steps:`. */
  readonly step: { readonly id: string; readonly kind: string } | null;
  readonly lastProgressAwakeMs: number;
  /** The same on the wall clock, for people. */
  readonly lastProgressAtMs: number;
  readonly openItems: number;
  /** Set while it has questions that are open. */
  readonly askedAtAwakeMs: number | null;
  readonly askedAtMs: number | null;
  /** Tools of the host that are at work for it. */
  readonly hostCalls: number;
  readonly ownMove: { readonly state: string; readonly awakeMs: number } | null;
  /** Why it must end once its grace is over, see reconcile.ts. */
  readonly grace: { readonly untilAwakeMs: number; readonly reason: StopReason } | null;
  readonly stop: StopReason | null;
  readonly session: { readonly threadId: string; readonly turnId: string; readonly turn: number } | null;
  /** As they were when the run began: a later edit of WORKFLOW.md does not change them. */
  readonly limits: RunLimits;
}

export interface RunLimits {
  readonly stallTimeoutMs: number;
  readonly inputTimeoutMs: number;
  readonly onInputTimeout: 'park' | 'decline';
  readonly finishGraceMs: number;
}

/** What is remembered of an issue for ever, claimed or not. */
export interface IssueRecord {
  readonly runs: number;
  /** Tokens spent: input − cached + output. */
  readonly tokens: number;
  /** `tokens` when a person last granted a new budget. */
  readonly budgetFrom: number;
  /** The last threads and their absolute totals: a thread is not counted twice, resumed or beside another. */
  readonly threads: readonly { readonly id: string; readonly totals: TokenTotals }[];
}

/** Who must be well again before new work starts. */
export const HOLD_SOURCES = ['workflow', 'store', 'tracker', 'disk', 'budget', 'agent'] as const;
export type HoldSource = (typeof HOLD_SOURCES)[number];

export interface Hold {
  readonly code: ErrorCode;
  readonly message: string;
  readonly sinceMs: number;
  /** Failed probes so far. */
  readonly tries: number;
  /** When the next probe may start, or when the hold ends by itself. `null`: only an observation ends it. */
  readonly untilMs: number | null;
  /** Issues that were the probe and met the same error, the last one last. */
  readonly probed: readonly string[];
}
