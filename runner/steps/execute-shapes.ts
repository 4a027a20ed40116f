import { setImmediate } from 'node:timers/promises';
import { BatonError, scopeOf, toBatonError } from '../../src/domain/errors.js';
import type { Json } from '../../src/domain/json.js';
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
import { OutputList } from './cut-output.js';
import { type DerivedSignal, deriveSignal } from './derived-signal.js';
import type { StepPlace } from './execute-steps.js';

type Run = (steps: readonly Step[], place: StepPlace) => Promise<Outcome>;

/** A list that somebody else made must not become a thousand agents. */
const MAX_ITEMS = 1_000;

/** All branches at once. Its output is the outputs of the branches in their order; one that did not succeed is `null`. */
export function executeParallel(step: ParallelStep, place: StepPlace, run: Run): Promise<Outcome> {
  const work = step.branches.map((branch) => (signal: AbortSignal) => run(branch, { ...place, signal }));
  return joined(work, step.join, work.length, place);
}

/** The same steps for each item, each in data of its own. */
export async function executeFanOut(step: FanOutStep, place: StepPlace, run: Run): Promise<Outcome> {
  let items: readonly Json[];
  try {
    items = itemsOf(step.items, place, MAX_ITEMS, 'step_data_error');
  } catch (error) {
    return failureOf(toBatonError(error));
  }
  const work = items.map((item, index) => (signal: AbortSignal) => {
    const scope = place.scope.inWorker({ item });
    return run(step.steps, { ...place, scope, signal, within: [...place.within, index + 1] });
  });
  return joined(work, step.join, step.maxWorkers, place);
}

/** The body, then `break_when`. To go through all iterations without it is told, and no failure. */
export async function executeLoop(step: LoopStep, place: StepPlace, run: Run): Promise<Outcome> {
  try {
    const items = step.items === null ? null : itemsOf(step.items, place, step.maxIterations, 'loop_too_long');
    const most = items?.length ?? step.maxIterations;
    for (let iteration = 1; iteration <= most; iteration += 1) {
      // Goes whose steps are all skipped wait for nothing; a million of them must not keep everybody else from being heard.
      await setImmediate();
      const extras = { iteration, ...(items === null ? {} : { item: items[iteration - 1] ?? null }) };
      const scope = place.scope.inLoop(extras);
      const outcome = await run(step.steps, { ...place, scope, within: [...place.within, iteration] });
      if (outcome.state !== 'success') return outcome;
      if (step.breakWhen !== null && holds(step.breakWhen, scope.values(0)))
        return success({ iterations: iteration, broke: true });
    }
    if (step.breakWhen !== null)
      place.run.observer.warned(place.run.runId, 'loop did not converge', { step: step.id, iterations: most });
    return success({ iterations: most, broke: false });
  } catch (error) {
    return failureOf(toBatonError(error));
  }
}

function itemsOf(items: Json, { scope }: StepPlace, most: number, code: 'loop_too_long' | 'step_data_error') {
  const list = renderValue(items, scope.values(0));
  if (!Array.isArray(list)) {
    throw new BatonError('step_data_error', `items must be a list, and ${JSON.stringify(items).slice(0, 100)} is none`);
  }
  if (list.length <= most) return list as readonly Json[];
  const limit = code === 'loop_too_long' ? 'max_iterations is' : 'the limit is';
  throw new BatonError(code, `there are ${list.length} items, and ${limit} ${most}`);
}

/**
 * Does the work, at most `most` pieces at a time, until it is clear whether enough of it succeeds; then the rest is ended. Where it
 * fails, the error to show is the first structural one, else the first one.
 */
async function joined(
  work: readonly ((signal: AbortSignal) => Promise<Outcome>)[],
  join: Join,
  most: number,
  { run, signal: outer }: StepPlace,
): Promise<Outcome> {
  const needed = join === 'all' ? work.length : Math.min(work.length, join === 'any' ? 1 : join);
  const outputs = new OutputList(work.length, run.maxInlineOutputBytes);
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
  await Promise.all(Array.from({ length: Math.max(1, Math.min(most, work.length)) }, worker));
  if (outer.aborted && succeeded < needed) return cancelled(outer.reason as AbortReason);
  if (succeeded >= needed) return success(outputs.all);
  const structural = failed.find(({ error }) => scopeOf(error.code) === 'daemon');
  return structural ?? failed[0] ?? failure('internal_error', 'too few branches succeeded');
}
