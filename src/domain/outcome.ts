import { type BatonError, ERRORS, type ErrorCode } from './errors.js';
import type { Json } from './json.js';
import type { Question } from './question.js';

/** How a step or a run ended. One type for every executor; nothing throws past it. */
export type Outcome =
  | { readonly state: 'success'; readonly output: Json; readonly meta: OutcomeMeta }
  | { readonly state: 'failed' | 'timeout' | 'cancelled'; readonly error: OutcomeError; readonly meta: OutcomeMeta };

export interface OutcomeError {
  readonly code: ErrorCode;
  readonly message: string;
  /** May the *step* be repeated inside this run? The orchestrator's backoff is another matter. */
  readonly retryable: boolean;
  /** When a named limit ends, as wall-clock milliseconds. */
  readonly resetAtMs?: number;
  /** What a person has to answer before the issue can go on. */
  readonly question?: Question;
}

export interface OutcomeMeta {
  readonly threadId?: string;
  readonly turns?: number;
}

export function success(output: Json, meta: OutcomeMeta = {}): Outcome {
  return { state: 'success', output, meta };
}

export function failure(code: ErrorCode, message: string, extra: FailureExtra = {}): Outcome {
  const { meta = {}, state = 'failed', ...rest } = extra;
  return { state, error: { code, message, retryable: ERRORS[code].retryable, ...rest }, meta };
}

export function failureOf(error: BatonError, extra: FailureExtra = {}): Outcome {
  return failure(error.code, error.message, extra);
}

interface FailureExtra {
  readonly state?: 'failed' | 'timeout' | 'cancelled';
  readonly resetAtMs?: number;
  readonly question?: Question;
  readonly meta?: OutcomeMeta;
}
