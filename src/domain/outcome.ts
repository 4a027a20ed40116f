import { ERRORS } from './error-table.js';
import type { BatonError, ErrorCode } from './errors.js';
import type { Json } from './json.js';
import type { StopReason } from './run.js';
import type { Question, TokenTotals } from './run-signal.js';

/** How a step or a run ended. Every executor returns it and throws nothing. */
export type Outcome = { readonly state: 'success'; readonly output: Json; readonly meta: OutcomeMeta } | FailedOutcome;

export interface FailedOutcome {
  readonly state: 'failed' | 'timeout' | 'cancelled';
  readonly error: OutcomeError;
  readonly meta: OutcomeMeta;
}

export interface OutcomeError {
  readonly code: ErrorCode;
  readonly message: string;
  /** May the step be repeated inside this run? The backoff between runs does not depend on it. */
  readonly retryable: boolean;
  /** When a rate limit or quota resets, in wall-clock milliseconds. */
  readonly resetAtMs?: number;
  /** The question that a person must answer before the issue can go on. */
  readonly question?: Question;
}

export interface OutcomeMeta {
  /** Further data of a capability, besides the output. */
  readonly context?: Json;
  readonly threadId?: string;
  readonly turns?: number;
  /** The sum over all agents. */
  readonly usage?: TokenTotals;
  /** Absent when `after_run` did not run. Its failure does not change the outcome. */
  readonly afterRunFailed?: boolean;
}

export function success(output: Json, meta: OutcomeMeta = {}): Outcome {
  return { state: 'success', output, meta };
}

export function failure(code: ErrorCode, message: string, extra: FailureExtra = {}): FailedOutcome {
  const { meta = {}, state = 'failed', ...rest } = extra;
  return { state, error: { code, message, retryable: ERRORS[code].retryable, ...rest }, meta };
}

export function failureOf(error: BatonError, extra: FailureExtra = {}): FailedOutcome {
  const { resetAtMs } = error.details;
  return failure(error.code, error.message, { ...(typeof resetAtMs === 'number' ? { resetAtMs } : {}), ...extra });
}

/** Why a step is aborted: its run must stop, or only the step. */
export type AbortReason = StopReason | 'step_timeout' | 'workspace_too_large' | 'sibling';

/** The outcome of a run or step that Baton ended. */
export function cancelled(reason: AbortReason, extra: { readonly question?: Question } = {}): FailedOutcome {
  const { code, state = 'cancelled', message } = STOPPED[reason];
  return failure(code, message, { ...extra, state });
}

interface Stopped {
  readonly code: ErrorCode;
  readonly message: string;
  readonly state?: 'failed' | 'timeout';
}

const moved = (message: string): Stopped => ({ code: 'CANCELLED_BY_ORCHESTRATOR', message });

const STOPPED: { readonly [reason in AbortReason]: Stopped } = {
  terminal: moved('the issue reached a terminal state'),
  inactive: moved('the issue left the active states'),
  unroutable: moved('the issue is no longer for this daemon'),
  gone: moved('the issue is gone from the tracker'),
  stalled: { code: 'stall_timeout', message: 'the agent made no progress for codex.stall_timeout_ms' },
  budget: { code: 'budget_exceeded', message: 'the token budget of the issue is spent' },
  day_budget: { code: 'INTERRUPTED', message: 'the token budget of the day is spent' },
  input_timeout: {
    code: 'turn_input_required',
    message: 'the question of the agent was not answered in time',
    state: 'failed',
  },
  operator: { code: 'STOPPED_BY_OPERATOR', message: 'an operator stopped the run' },
  shutdown: { code: 'INTERRUPTED', message: 'the daemon shuts down' },
  // The step loop replaces this code by that of the step's kind.
  step_timeout: { code: 'turn_timeout', message: 'the step took longer than its time limit', state: 'timeout' },
  workspace_too_large: {
    code: 'workspace_too_large',
    message: 'the workspace takes more disk space than workspace.max_mb',
    state: 'failed',
  },
  sibling: { code: 'CANCELLED_BY_ORCHESTRATOR', message: 'a parallel step decided the outcome' },
};

interface FailureExtra {
  readonly state?: 'failed' | 'timeout' | 'cancelled';
  readonly resetAtMs?: number;
  readonly question?: Question;
  readonly meta?: OutcomeMeta;
}
