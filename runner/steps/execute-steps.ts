import { setImmediate } from 'node:timers/promises';
import { BatonError, scopeOf, toBatonError } from '../../src/domain/errors.js';
import { assertNever, type Json } from '../../src/domain/json.js';
import {
  type AbortReason,
  cancelled,
  type FailedOutcome,
  failure,
  failureOf,
  type Outcome,
  success,
} from '../../src/domain/outcome.js';
import { holds } from '../../src/domain/steps/expression.js';
import type { FanOutStep, Join, LoopStep, ParallelStep, Step } from '../../src/domain/steps/plan.js';
import { renderValue } from '../../src/domain/steps/tokens.js';
import type { RunContext } from '../run-context.js';
import { type DerivedSignal, deriveSignal } from './derive-signal.js';
import { executeAction, type StepResult } from './execute-action.js';
import type { RunScope } from './run-scope.js';
import { cutOutput, OutputList } from './step-output.js';

/** The part of the plan that a list of steps belongs to: the whole run, a branch, an iteration of a loop, a worker of a fan-out. */
export interface Branch {
  readonly run: RunContext;
  readonly scope: RunScope;
  readonly signal: AbortSignal;
  /** The numbers of the iterations and workers around it, outermost first. */
  readonly within: readonly number[];
}

/** Executes steps in order until one does not succeed. The output is that of the last step. Never throws. */
export async function executeSteps(steps: readonly Step[], branch: Branch): Promise<Outcome> {
  let last: Outcome = success(null);
  for (const step of steps) {
    last = await executeStep(step, branch);
    if (last.state !== 'success') return last;
  }
  return last;
}

async function executeStep(step: Step, branch: Branch): Promise<Outcome> {
  const { run, scope, signal, within } = branch;
  if (signal.aborted) return cancelled(signal.reason as AbortReason);
  const { observer, clock } = run.services;
  const { isImplied } = run.workflow.plan;
  const guarded = evaluateGuard(step, branch);
  const start = { stepId: step.id, kind: kindOf(step), within, isSkipped: guarded?.outcome === 'skipped' };
  const startedAtMs = clock.now().awakeMs;
  // The one step of a workflow without `steps:` is the run itself: it is not reported, and its outcome is passed on unchanged.
  if (!isImplied) {
    observer.stepStarted(run.runId, start);
    if (step.shape === 'action' && !start.isSkipped) run.emit({ type: 'step', stepId: step.id, kind: start.kind });
  }
  const { outcome, tries } = guarded ?? (await executeShape(step, branch));
  if (isImplied) return outcome === 'skipped' ? success(null) : outcome;
  observer.stepFinished(run.runId, { ...start, outcome, tries, durationMs: clock.now().awakeMs - startedAtMs });
  if (outcome === 'skipped') {
    scope.record(step.id, step.outputTo, null);
    return success(null);
  }
  if (outcome.state !== 'success') return withStepName(outcome, step);
  const { maxInlineOutputBytes } = run.config.runtime;
  const output = cutOutput(outcome.output, maxInlineOutputBytes);
  const context = cutOutput(outcome.meta.context ?? null, maxInlineOutputBytes);
  scope.record(step.id, step.outputTo, output, context);
  if (step.shape === 'action') run.conversation.addOutput(step.id, output);
  return { ...outcome, output };
}

type GuardResult = { readonly outcome: Outcome | 'skipped'; readonly tries: number };

/** Returns null when the step is to be executed. An error in the guard is a failure and never "no". */
function evaluateGuard(step: Step, { scope }: Branch): GuardResult | null {
  if (step.when === null) return null;
  try {
    return holds(step.when, scope.values(0)) ? null : { outcome: 'skipped', tries: 0 };
  } catch (error) {
    return { outcome: failureOf(toBatonError(error)), tries: 0 };
  }
}

async function executeShape(step: Step, branch: Branch): Promise<StepResult> {
  switch (step.shape) {
    case 'action':
      return executeAction(step, branch.scope, branch.run, branch.signal);
    case 'parallel':
      return { outcome: await executeParallel(step, branch), tries: 1 };
    case 'fan_out':
      return { outcome: await executeFanOut(step, branch), tries: 1 };
    case 'loop':
      return { outcome: await executeLoop(step, branch), tries: 1 };
    default:
      return assertNever(step);
  }
}

/** Names the innermost step only: the shapes around it add nothing. */
function withStepName(outcome: FailedOutcome, step: Step): FailedOutcome {
  if (step.shape !== 'action' || outcome.state === 'cancelled') return outcome;
  const message = `step "${step.id}" (${step.place}): ${outcome.error.message}`;
  return { ...outcome, error: { ...outcome.error, message } };
}

function kindOf(step: Step): string {
  return step.shape === 'action' ? step.action.kind : step.shape;
}

/** All branches at once. The output lists the outputs of the branches in order; a branch that did not succeed is `null`. */
function executeParallel(step: ParallelStep, branch: Branch): Promise<Outcome> {
  const work = step.branches.map((steps) => (signal: AbortSignal) => executeSteps(steps, { ...branch, signal }));
  return joinWork(work, step.join, work.length, branch);
}

/** Protects against a list from outside that would become a thousand agents. */
const MAX_ITEMS = 1_000;

/** The same steps for each item, each with its own copy of the data. */
async function executeFanOut(step: FanOutStep, branch: Branch): Promise<Outcome> {
  let items: readonly Json[];
  try {
    items = itemsOf(step.items, branch, MAX_ITEMS, 'step_data_error');
  } catch (error) {
    return failureOf(toBatonError(error));
  }
  const work = items.map((item, index) => (signal: AbortSignal) => {
    const scope = branch.scope.inWorker({ item });
    return executeSteps(step.steps, { ...branch, scope, signal, within: [...branch.within, index + 1] });
  });
  return joinWork(work, step.join, step.maxWorkers, branch);
}

/** The body, then `break_when`. Using up all iterations without a break is logged and is no failure. */
async function executeLoop(step: LoopStep, branch: Branch): Promise<Outcome> {
  try {
    const items = step.items === null ? null : itemsOf(step.items, branch, step.maxIterations, 'loop_too_long');
    const maxIterations = items?.length ?? step.maxIterations;
    for (let iteration = 1; iteration <= maxIterations; iteration += 1) {
      // An iteration whose steps are all skipped never waits. A million of them must not block the event loop.
      await setImmediate();
      const extras = { iteration, ...(items === null ? {} : { item: items[iteration - 1] ?? null }) };
      const scope = branch.scope.inLoop(extras);
      const outcome = await executeSteps(step.steps, { ...branch, scope, within: [...branch.within, iteration] });
      if (outcome.state !== 'success') return outcome;
      if (step.breakWhen !== null && holds(step.breakWhen, scope.values(0)))
        return success({ iterations: iteration, broke: true });
    }
    if (step.breakWhen !== null) branch.run.warn('loop did not converge', { step: step.id, iterations: maxIterations });
    return success({ iterations: maxIterations, broke: false });
  } catch (error) {
    return failureOf(toBatonError(error));
  }
}

function itemsOf(items: Json, { scope }: Branch, max: number, code: 'loop_too_long' | 'step_data_error') {
  const list = renderValue(items, scope.values(0));
  if (!Array.isArray(list)) {
    throw new BatonError('step_data_error', `items must be a list, but ${JSON.stringify(items).slice(0, 100)} is not`);
  }
  if (list.length <= max) return list as readonly Json[];
  const limit = code === 'loop_too_long' ? 'max_iterations is' : 'the limit is';
  throw new BatonError(code, `there are ${list.length} items, but ${limit} ${max}`);
}

/**
 * Runs at most `maxAtOnce` pieces of work at a time until it is decided whether enough of them succeed, then aborts the others. A failed
 * join reports the first structural error, else the first error.
 */
async function joinWork(
  work: readonly ((signal: AbortSignal) => Promise<Outcome>)[],
  join: Join,
  maxAtOnce: number,
  { run, signal: outer }: Branch,
): Promise<Outcome> {
  const needed = join === 'all' ? work.length : Math.min(work.length, join === 'any' ? 1 : join);
  const outputs = new OutputList(work.length, run.config.runtime.maxInlineOutputBytes);
  const failed: FailedOutcome[] = [];
  const signals: DerivedSignal[] = [];
  let succeeded = 0;
  let next = 0;
  const isDecided = () => succeeded >= needed || work.length - failed.length < needed;
  const worker = async () => {
    while (next < work.length && !isDecided() && !outer.aborted) {
      const index = next++;
      const own = deriveSignal(outer);
      signals.push(own);
      const outcome = (await work[index]?.(own.signal)) ?? failure('internal_error', 'a branch is missing');
      own.release();
      if (outcome.state === 'success') {
        succeeded += 1;
        outputs.put(index, outcome.output);
      } else if (own.signal.reason !== 'sibling') failed.push(outcome);
      if (isDecided()) for (const other of signals) other.abort('sibling');
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Math.min(maxAtOnce, work.length)) }, worker));
  if (outer.aborted && succeeded < needed) return cancelled(outer.reason as AbortReason);
  if (succeeded >= needed) return success(outputs.all);
  const structural = failed.find(({ error }) => scopeOf(error.code) === 'daemon');
  return structural ?? failed[0] ?? failure('internal_error', 'too few branches succeeded');
}
