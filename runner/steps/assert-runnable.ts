import { type CapabilityIndex, executorFor, findCapability } from '../../src/domain/capabilities.js';
import { BatonError } from '../../src/domain/errors.js';
import { allSteps, type CapabilityAction, type Plan } from '../../src/domain/steps/plan.js';

/**
 * What the load has seen may be gone by now: a folder of capabilities can change without WORKFLOW.md. Asked before anything of a run
 * is made. Throws `EXECUTOR_NOT_FOUND` or `CAPABILITY_NOT_FOUND`, which hold the daemon and count against no issue.
 */
export async function assertRunnable(plan: Plan, find: () => Promise<CapabilityIndex>): Promise<void> {
  const wanted = [...allSteps(plan.steps)].flatMap((step): { id: string; action: CapabilityAction }[] =>
    step.shape === 'action' && step.action.kind === 'capability' ? [{ id: step.id, action: step.action }] : [],
  );
  if (wanted.length === 0) return;
  const index = await find();
  for (const { id, action } of wanted) {
    const capability = findCapability(index, action.type, action.name);
    if (executorFor(index, action.type, capability?.executor ?? null) === null) {
      const what = capability?.executor ? `the executor ${capability.executor}` : `an executor for ${action.type}`;
      throw new BatonError('EXECUTOR_NOT_FOUND', `step "${id}" needs ${what}, and there is none (any more)`);
    }
    if (capability !== null) continue;
    const message = `step "${id}" needs the ${action.type} ${action.name}, and there is none (any more)`;
    throw new BatonError('CAPABILITY_NOT_FOUND', message);
  }
}
