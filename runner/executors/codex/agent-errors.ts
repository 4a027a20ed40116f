import { type ErrorCode, scopeOf, toBatonError } from '../../../src/domain/errors.js';
import { type Fields, fieldsOf } from '../../../src/domain/json.js';
import { type FailedOutcome, failureOf } from '../../../src/domain/outcome.js';

/** Carries a complete outcome up to the executor: a question, a reset time and a state do not fit into a `BatonError`. */
export class StepEnded extends Error {
  override readonly name = 'StepEnded';

  constructor(readonly outcome: FailedOutcome) {
    super(outcome.error.message);
  }
}

export function outcomeOf(error: unknown): FailedOutcome {
  if (error instanceof StepEnded) return error.outcome;
  const known = toBatonError(error);
  const state = known.code === 'turn_timeout' ? 'timeout' : 'failed';
  return failureOf(known, { state });
}

/** `codexErrorInfo` of a failed turn → our error code. Errors that would hit every issue get a code that holds the daemon. */
const BY_NAME: ReadonlyMap<string, ErrorCode> = new Map([
  ['unauthorized', 'agent_unauthorized'],
  ['usageLimitExceeded', 'agent_quota'],
  ['rateLimitExceeded', 'agent_quota'],
  ['modelNotFound', 'agent_model_not_found'],
  ['serverOverloaded', 'agent_unreachable'],
]);

const BY_STATUS: ReadonlyMap<unknown, ErrorCode> = new Map([
  [401, 'agent_unauthorized'],
  [403, 'agent_unauthorized'],
  [429, 'agent_quota'],
  [502, 'agent_unreachable'],
  [503, 'agent_unreachable'],
  [504, 'agent_unreachable'],
]);

const CONNECTION_FAULTS = [
  'httpConnectionFailed',
  'responseStreamConnectionFailed',
  'responseStreamDisconnected',
  'responseTooManyFailedAttempts',
] as const;

export function codeOfTurnError(codexErrorInfo: unknown): ErrorCode {
  if (typeof codexErrorInfo === 'string') return BY_NAME.get(codexErrorInfo) ?? 'turn_failed';
  const info = fieldsOf(codexErrorInfo);
  const fault = CONNECTION_FAULTS.find((name) => Object.hasOwn(info, name));
  if (!fault) return 'turn_failed';
  const status = fieldsOf(info[fault]).httpStatusCode;
  // Without a status the service did not answer. Other statuses (500, 404, …) may be caused by this one request.
  return status === null || status === undefined ? 'agent_unreachable' : (BY_STATUS.get(status) ?? 'turn_failed');
}

/** A silent agent that was reconnecting all the time is not stalled: its model service is unreachable. */
export function codeOfStall(lastRetryError: Fields | null): ErrorCode {
  if (!lastRetryError) return 'stall_timeout';
  const code = codeOfTurnError(lastRetryError.codexErrorInfo);
  return scopeOf(code) === 'daemon' ? code : 'agent_unreachable';
}
