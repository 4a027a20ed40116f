import type { RunReason } from './effects.js';
import type { ErrorCode } from './errors.js';
import type { Outcome } from './outcome.js';
import type { TokenTotals } from './runtime-event.js';

/** What brought a run about: the board, a failure or an interruption before it, an answer, or a person who asked for it. */
export const RUN_CAUSES = ['poll', 'retry', 'answer', 'operator'] as const;
export type RunCause = (typeof RUN_CAUSES)[number];

/** What is known of a run besides where it stands; it fills up while the run lives. */
export interface RunAccount {
  readonly cause: RunCause;
  readonly daemonVersion: string;
  /** SHA-256 of WORKFLOW.md. */
  readonly workflowHash: string;
  /** SHA-256 of the issue and of the first prompt as they were rendered; `null` until then. */
  readonly issueHash: string | null;
  readonly promptHash: string | null;
  /** As the agent names them; `null`: it did not. */
  readonly agentVersion: string | null;
  readonly model: string | null;
  readonly turns: number;
  /** Spent by this run alone. */
  readonly tokens: TokenTotals;
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
