import { createHash } from 'node:crypto';
import { type CapabilityIndex, executorFor, findCapability } from '../../src/domain/capabilities.js';
import { BatonError, toBatonError } from '../../src/domain/errors.js';
import type { Json, JsonObject } from '../../src/domain/json.js';
import { failure, failureOf, type Outcome } from '../../src/domain/outcome.js';
import { allSteps, type CapabilityAction, type Plan } from '../../src/domain/steps/plan.js';
import type { Scope } from '../../src/domain/steps/tokens.js';
import { compilePrompt } from '../../templates/render-prompt.js';
import { promptValues } from '../prompt-values.js';
import type { Attempt, RunDeps } from '../run-attempt.js';
import type { Workspace } from '../workspace/workspace-folder.js';
import { deriveSignal, executeSteps } from './execute-steps.js';
import { Pulse } from './pulse.js';
import { SharedResources } from './run-resources.js';
import { type RenderPrompt, RunScope, ThreadMessages } from './run-scope.js';
import { type StepRun, stepContext } from './step-context.js';
import { StepThreads } from './step-threads.js';

interface PlanParts {
  readonly attempt: Attempt;
  readonly deps: RunDeps;
  readonly workspace: Workspace;
  readonly tmpDir: string;
  /** The prompt of a workflow without `steps:`, rendered before anything was started; `null`: prompts are rendered step by step. */
  readonly prompt: string | null;
}

/** Runs the steps of a workflow in order. Never throws, and returns only once everything that they started is gone. */
export async function runPlan(parts: PlanParts): Promise<Outcome> {
  const { attempt, deps, workspace } = parts;
  const { order, workflow } = attempt;
  const { plan } = workflow;
  const onTrouble = (error: Error) =>
    deps.observer.warned(order.runId, 'something of a step could not be given back', { detail: error.message });
  const resources = new SharedResources(deps.clock, onTrouble);
  const own = deriveSignal(attempt.signal);
  const stuck: string[] = [];
  // The core has parked the issue by then and keeps no books of its run any more: whatever else is at work ends, and nothing begins.
  const onUnkillable = (stepId: string) => {
    stuck.push(stepId);
    own.abort('sibling');
  };
  try {
    const { issue, attempt: number, run } = promptValues(order, workflow, workspace.path);
    const scope = RunScope.begin({ issue: { ...issue } as unknown as JsonObject, attempt: number, run }, plan.inputs);
    if (!plan.isImplied) deps.observer.audited(order.runId, 'plan', planFacts(plan));
    const threads = new StepThreads(plan, order.resume);
    const messages = new ThreadMessages(order.runId, deps.clock);
    messages.asked(parts.prompt ?? openingMessage(parts, scope));
    const stepRun = createStepRun(parts, { resources, threads, messages, onUnkillable });
    const outcome = await executeSteps(plan.steps, { run: stepRun, scope, signal: own.signal, within: [] });
    if (plan.isImplied) return outcome;
    const { turns, usage } = threads;
    const meta = { ...outcome.meta, turns, ...(turns > 0 ? { usage } : {}) };
    if (stuck.length === 0) return { ...outcome, meta };
    return failure('unkillable', `processes of step "${stuck.join('", "')}" outlived SIGKILL`, { meta });
  } catch (error) {
    return failureOf(toBatonError(error));
  } finally {
    own.release();
    await resources.release();
  }
}

/** What was resolved before anything ran: the steps with their kinds, and what `auto` became by whose word. */
function planFacts(plan: Plan): Json {
  const steps = [...allSteps(plan.steps)].map((step) => {
    if (step.shape !== 'action') return { id: step.id, shape: step.shape };
    const { action } = step;
    return { id: step.id, kind: action.kind, ...(action.kind === 'agent' ? { backend: action.backend } : {}) };
  });
  return { steps, backend: { ...plan.backend } };
}

interface Shared {
  readonly resources: SharedResources;
  readonly threads: StepThreads;
  readonly messages: ThreadMessages;
  onUnkillable(stepId: string): void;
}

function createStepRun(parts: PlanParts, shared: Shared): StepRun {
  const { attempt, deps } = parts;
  const { order, workflow } = attempt;
  const { messages } = shared;
  let index = 0;
  return {
    runId: order.runId,
    clock: deps.clock,
    executors: deps.executors,
    observer: deps.observer,
    pulse: new Pulse(attempt.emit),
    renderPrompt: parts.prompt === null ? promptRenderer(parts) : () => parts.prompt ?? '',
    maxInlineOutputBytes: workflow.config.runtime.maxInlineOutputBytes,
    isImplied: workflow.plan.isImplied,
    once: new Map(),
    nextIndex: () => index++,
    contextOf: (request) => stepContext({ ...parts, ...shared, messages: () => messages.all }, request),
    emit: attempt.emit,
    said: (stepId, output) => messages.said(stepId, output),
  };
}

/** Prompts of steps name what `${…}` names, and the workflow. */
type StepValues = Scope & { readonly workflow: Json };

function promptRenderer({ attempt, workspace }: PlanParts): RenderPrompt {
  const { order, workflow } = attempt;
  return (source, scope) => {
    const { workflow: ours } = promptValues(order, workflow, workspace.path);
    return tellRendered(compilePrompt<StepValues>(source).render({ ...scope, workflow: ours }), attempt);
  };
}

/** As hashes, for the record of the run. What of it an agent is sent, and when, its executor tells. */
export function tellRendered(prompt: string, { order, emit }: Attempt): string {
  emit({ type: 'rendered', issueHash: sha256(JSON.stringify(order.issue)), promptHash: sha256(prompt) });
  return prompt;
}

/** What the workflow asks for, as far as it can be said before the first step: its prompt may name outputs of later ones. */
function openingMessage({ attempt, workspace }: PlanParts, scope: RunScope): string {
  const { order, workflow } = attempt;
  try {
    const { workflow: ours } = promptValues(order, workflow, workspace.path);
    return compilePrompt<StepValues>(workflow.prompt).render({ ...scope.values(0), workflow: ours });
  } catch {
    const { identifier, title, description } = order.issue;
    return `${identifier}: ${title}\n\n${description ?? ''}`.trim();
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

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
