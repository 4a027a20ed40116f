import { toBatonError } from '../../src/domain/errors.js';
import { assertNever } from '../../src/domain/json.js';
import {
  type AbortReason,
  cancelled,
  type FailedOutcome,
  failureOf,
  type Outcome,
  success,
} from '../../src/domain/outcome.js';
import { holds } from '../../src/domain/steps/expression.js';
import type { Step } from '../../src/domain/steps/plan.js';
import { cutOutput } from './cut-output.js';
import { type Executed, executeAction } from './execute-action.js';
import { executeFanOut, executeLoop, executeParallel } from './execute-shapes.js';
import type { RunScope } from './run-scope.js';
import type { StepRun } from './step-run.js';

/** Where in the plan a list of steps is being run. */
export interface StepPlace {
  readonly run: StepRun;
  readonly scope: RunScope;
  readonly signal: AbortSignal;
  /** Goes of loops and workers of fan-outs around it, outermost first. */
  readonly within: readonly number[];
}

/** Steps in order, until one does not succeed. The output is that of the last one. Never throws. */
export async function executeSteps(steps: readonly Step[], place: StepPlace): Promise<Outcome> {
  let last: Outcome = success(null);
  for (const step of steps) {
    last = await executeStep(step, place);
    if (last.state !== 'success') return last;
  }
  return last;
}

async function executeStep(step: Step, place: StepPlace): Promise<Outcome> {
  const { run, scope, signal, within } = place;
  if (signal.aborted) return cancelled(signal.reason as AbortReason);
  const refusal = isWanted(step, place);
  const start = { stepId: step.id, kind: kindOf(step), within, isSkipped: refusal?.outcome === 'skipped' };
  const startedAtMs = run.clock.now().awakeMs;
  if (!run.isImplied) {
    run.observer.stepStarted(run.runId, start);
    if (step.shape === 'action' && !start.isSkipped) run.emit({ type: 'step', stepId: step.id, kind: start.kind });
  }
  const { outcome, tries } = refusal ?? (await carryOut(step, place));
  if (run.isImplied) return outcome === 'skipped' ? success(null) : outcome;
  const durationMs = run.clock.now().awakeMs - startedAtMs;
  run.observer.stepFinished(run.runId, { ...start, outcome, tries, durationMs });
  if (outcome === 'skipped') {
    scope.record(step.id, step.outputTo, null);
    return success(null);
  }
  if (outcome.state !== 'success') return named(outcome, step);
  const output = cutOutput(outcome.output, run.maxInlineOutputBytes);
  const context = cutOutput(outcome.meta.context ?? null, run.maxInlineOutputBytes);
  scope.record(step.id, step.outputTo, output, context);
  if (step.shape === 'action') run.said(step.id, output);
  return { ...outcome, output };
}

type Ended = { readonly outcome: Outcome | 'skipped'; readonly tries: number };

/** `null`: go on. A fault in the guard is a fault and never "no". */
function isWanted(step: Step, { scope }: StepPlace): Ended | null {
  if (step.when === null) return null;
  try {
    return holds(step.when, scope.values(0)) ? null : { outcome: 'skipped', tries: 0 };
  } catch (error) {
    return { outcome: failureOf(toBatonError(error)), tries: 0 };
  }
}

async function carryOut(step: Step, place: StepPlace): Promise<Executed> {
  const { run, scope, signal } = place;
  switch (step.shape) {
    case 'action':
      return executeAction(step, scope, run, signal);
    case 'parallel':
      return { outcome: await executeParallel(step, place, executeSteps), tries: 1 };
    case 'fan_out':
      return { outcome: await executeFanOut(step, place, executeSteps), tries: 1 };
    case 'loop':
      return { outcome: await executeLoop(step, place, executeSteps), tries: 1 };
    default:
      return assertNever(step);
  }
}

/** The innermost step is the one to look at; shapes around it add nothing. */
function named(outcome: FailedOutcome, step: Step): FailedOutcome {
  if (step.shape !== 'action' || outcome.state === 'cancelled') return outcome;
  const message = `step "${step.id}" (${step.place}): ${outcome.error.message}`;
  return { ...outcome, error: { ...outcome.error, message } };
}

function kindOf(step: Step): string {
  return step.shape === 'action' ? step.action.kind : step.shape;
}
