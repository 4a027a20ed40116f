import { toBatonError } from '../../../src/domain/errors.js';
import { assertNever } from '../../../src/domain/json.js';
import { type AbortReason, cancelled, failure, failureOf, type Outcome, success } from '../../../src/domain/outcome.js';
import type { CapabilityAction } from '../../../src/domain/steps/plan.js';
import type { Executor, StepContext } from '../executor.js';
import type { CapabilityEnd, CapabilityManager } from './capability-manager.js';

/** Runs steps of `kind: capability`. */
export function createCapabilityExecutor(manager: CapabilityManager): Executor<CapabilityAction> {
  return {
    async execute({ type, name, params }, context) {
      try {
        const end = await manager.startCapability({ type, name, params, timeoutMs: null }, context);
        return outcomeOf(end, `${type} ${name}`, context);
      } catch (error) {
        return failureOf(toBatonError(error));
      }
    },
  };
}

function outcomeOf(end: CapabilityEnd, what: string, { signal }: StepContext): Outcome {
  switch (end.state) {
    case 'completed':
      return success(end.result, end.additionalContext === undefined ? {} : { context: end.additionalContext });
    case 'failed':
      return failure(end.code, `${what}: ${end.message}`);
    case 'timeout':
    case 'stopped':
      // Only the step, its run or the end of the daemon can stop what a step started.
      return cancelled(signal.aborted ? (signal.reason as AbortReason) : 'shutdown');
    default:
      return assertNever(end);
  }
}
