import { toBatonError } from '../../../src/domain/errors.js';
import { type FailedOutcome, failureOf } from '../../../src/domain/outcome.js';

/** Carries an outcome that is more than a code and a message (a question, a reset time, a state) up to the executor. */
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
