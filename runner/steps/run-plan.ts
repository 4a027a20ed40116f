import { brokenExecutorFor, type CapabilityIndex, executorFor, findCapability } from '../../src/domain/capabilities.js';
import { BatonError, toBatonError } from '../../src/domain/errors.js';
import type { Json, JsonObject } from '../../src/domain/json.js';
import { failure, failureOf, type Outcome } from '../../src/domain/outcome.js';
import { allSteps, type CapabilityAction, type Plan } from '../../src/domain/steps/plan.js';
import type { RunContext } from '../run-context.js';
import { executeSteps } from './execute-steps.js';
import { RunScope } from './run-scope.js';

/** Executes the steps of a workflow. Never throws, and returns only once every process and resource of the steps is gone. */
export async function runPlan(run: RunContext): Promise<Outcome> {
  const { plan } = run.workflow;
  try {
    const { issue, attempt, run: facts } = run.prompts.values;
    const scope = RunScope.begin({ issue: { ...issue } as unknown as JsonObject, attempt, run: facts }, plan.inputs);
    if (!plan.isImplied) run.services.observer.audited(run.runId, 'plan', planFacts(plan));
    run.conversation.addPrompt(run.prompts.opening(scope.values(0)));
    const outcome = await executeSteps(plan.steps, { run, scope, signal: run.stepSignal, within: [] });
    if (plan.isImplied) return outcome;
    const { turns, usage } = run.threads;
    const meta = { ...outcome.meta, turns, ...(turns > 0 ? { usage } : {}) };
    if (run.stuckSteps.length === 0) return { ...outcome, meta };
    const names = run.stuckSteps.map((stepId) => `"${stepId}"`).join(', ');
    return failure('unkillable', `processes of step ${names} survive SIGKILL`, { meta });
  } catch (error) {
    return failureOf(toBatonError(error));
  } finally {
    await run.releaseSteps();
  }
}

/** For the transcript: the steps with their kinds, and the setting that decided `backend: auto`. */
function planFacts(plan: Plan): Json {
  const steps = [...allSteps(plan.steps)].map((step) => {
    if (step.shape !== 'action') return { id: step.id, shape: step.shape };
    const { action } = step;
    return { id: step.id, kind: action.kind, ...(action.kind === 'agent' ? { backend: action.backend } : {}) };
  });
  return { steps, backend: { ...plan.backend } };
}

/**
 * Checks that the capabilities of a plan still exist: their folder can change without WORKFLOW.md. Called before anything of a run is
 * made. Throws `EXECUTOR_NOT_FOUND`, `INVALID_ACTION_BLOCK` or `CAPABILITY_NOT_FOUND`, which hold the daemon and count against no
 * issue.
 */
export async function assertRunnable(plan: Plan, find: () => Promise<CapabilityIndex>): Promise<void> {
  const wanted = [...allSteps(plan.steps)].flatMap((step): { id: string; action: CapabilityAction }[] =>
    step.shape === 'action' && step.action.kind === 'capability' ? [{ id: step.id, action: step.action }] : [],
  );
  if (wanted.length === 0) return;
  const index = await find();
  for (const { id, action } of wanted) {
    const capability = findCapability(index, action.type, action.name);
    const pinned = capability?.executor ?? null;
    if (executorFor(index, action.type, pinned) === null) {
      const broken = brokenExecutorFor(index, action.type, pinned);
      if (broken !== null)
        throw new BatonError('INVALID_ACTION_BLOCK', `step "${id}" needs an executor that is invalid: ${broken.text}`);
      const what = capability?.executor ? `the executor ${capability.executor}` : `an executor for ${action.type}`;
      throw new BatonError('EXECUTOR_NOT_FOUND', `step "${id}" needs ${what}, which does not exist (any more)`);
    }
    if (capability !== null) continue;
    const message = `step "${id}" needs the ${action.type} ${action.name}, which does not exist (any more)`;
    throw new BatonError('CAPABILITY_NOT_FOUND', message);
  }
}
