import { setMaxListeners } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../src/domain/clock.js';
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
import type { RunSignal } from '../../src/domain/run-signal.js';
import { holds } from '../../src/domain/steps/expression.js';
import type {
  ActionStep,
  FanOutStep,
  Join,
  LoopStep,
  ParallelStep,
  RenderedAction,
  RetryPolicy,
  Step,
} from '../../src/domain/steps/plan.js';
import { renderText, renderValue } from '../../src/domain/steps/tokens.js';
import { execute, executorKey, TIMEOUT_CODES } from '../executors/executors.js';
import { cutOutput, OutputList, type RunScope, renderAction } from './run-scope.js';
import type { StepRun } from './step-context.js';

/** Where in the plan a list of steps is being run. */
interface StepPlace {
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

interface Executed {
  readonly outcome: Outcome;
  readonly tries: number;
}

/**
 * The step loop: fills in the data once, then tries until it succeeds, may not be repeated, or its tries are used up. In one run
 * equal idempotency keys are executed once; whoever comes second waits for the first and has its output. Never throws.
 */
async function executeAction(step: ActionStep, scope: RunScope, run: StepRun, signal: AbortSignal): Promise<Executed> {
  const index = run.nextIndex();
  let action: RenderedAction;
  let key: string | null;
  try {
    const values = scope.values(index);
    key = step.idempotencyKey === null ? null : renderKey(step.idempotencyKey, values);
    action = renderAction(step.action, values, run.renderPrompt);
  } catch (error) {
    return { outcome: failureOf(toBatonError(error)), tries: 0 };
  }
  const go = () => new ActionRun(step, action, { index, key }, run, signal).untilDone();
  if (key === null) return go();
  const name = `${executorKey(action)} ${key}`;
  for (let first = run.once.get(name); first; first = run.once.get(name)) {
    const outcome = await beforeAbort(first, signal);
    // One that was cancelled says nothing about this one, unless both were: somebody beside it was done first.
    if (outcome.state !== 'cancelled' || signal.aborted) return { outcome, tries: 0 };
  }
  const mine = go();
  const outcome = mine.then((done) => shortened(done.outcome, run.maxInlineOutputBytes));
  run.once.set(name, outcome);
  // What failed has done nothing that could be reused: a later step with this key tries for itself.
  if ((await outcome).state !== 'success') run.once.delete(name);
  return mine;
}

function renderKey(template: string, values: Parameters<typeof renderText>[1]): string {
  const key = renderText(template, values).trim();
  if (key !== '') return key;
  throw new BatonError('step_data_error', `idempotency_key ${template} is empty once it is filled in`);
}

/** As much of it as later steps see: it is kept until the run ends. */
function shortened(outcome: Outcome, maxBytes: number): Outcome {
  return outcome.state === 'success' ? { ...outcome, output: cutOutput(outcome.output, maxBytes) } : outcome;
}

function beforeAbort(outcome: Promise<Outcome>, signal: AbortSignal): Promise<Outcome> {
  return new Promise((resolve) => {
    const stop = () => resolve(cancelled(signal.reason as AbortReason));
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    void outcome.then((done) => {
      signal.removeEventListener('abort', stop);
      resolve(done);
    });
  });
}

class ActionRun {
  /** Questions to a person that are open. */
  readonly #asked = new Set<string>();

  constructor(
    private readonly step: ActionStep,
    private readonly action: RenderedAction,
    private readonly facts: { readonly index: number; readonly key: string | null },
    private readonly run: StepRun,
    private readonly signal: AbortSignal,
  ) {}

  async untilDone(): Promise<Executed> {
    const { step, run, signal } = this;
    // An agent goes on for hours and still must not be silent; anything else that has a limit of its own may be.
    run.pulse.begin(this, step.timeoutMs === null || executorKey(this.action) === 'agent_cli');
    try {
      for (let tries = 1; ; tries += 1) {
        const outcome = await this.#tryOnce();
        if (!mayTryAgain(outcome, step.retry, tries) || signal.aborted) return { outcome, tries };
        const delayMs = stepBackoffMs(step.retry, tries);
        run.observer.warned(run.runId, 'step failed, trying again', {
          step: step.id,
          code: outcome.error.code,
          detail: outcome.error.message,
          tries,
          delay_ms: delayMs,
        });
        // It rests: that is no silence.
        run.pulse.moved(this, 1);
        await pause(run.clock, delayMs, signal);
        if (signal.aborted) return { outcome: cancelled(signal.reason as AbortReason), tries };
        run.pulse.moved(this, 0);
      }
    } finally {
      run.pulse.end(this);
    }
  }

  async #tryOnce(): Promise<Outcome> {
    const { step, action, run, facts } = this;
    const { timeoutMs } = step;
    const limited = deriveSignal(this.signal);
    const cancel = timeoutMs === null ? () => {} : run.clock.after(timeoutMs, () => limited.abort('step_timeout'));
    try {
      const context = run.contextOf({
        facts: { id: step.id, index: facts.index, timeoutMs, idempotencyKey: facts.key },
        action: step.action,
        signal: limited.signal,
        emit: (signal) => this.#pass(signal),
      });
      const outcome = await execute(run.executors, action, context);
      return limited.signal.reason === 'step_timeout' ? this.#timedOut(outcome) : outcome;
    } catch (error) {
      return failureOf(toBatonError(error));
    } finally {
      cancel();
      limited.release();
      // Nobody is left to hear an answer, and what comes next must not look as if it waited for one.
      for (const questionId of [...this.#asked]) this.#pass({ type: 'question_closed', questionId });
    }
  }

  #pass(signal: RunSignal): void {
    const { run } = this;
    if (signal.type === 'progress') return run.pulse.moved(this, signal.openItems);
    if (signal.type === 'phase') return signal.phase === 'finishing' ? run.pulse.settled(this) : undefined;
    if (signal.type === 'asked') this.#asked.add(signal.question.id);
    if (signal.type === 'question_closed') this.#asked.delete(signal.questionId);
    run.emit(signal);
  }

  /** An executor ends as "cancelled" when its time is over; only here it is known what that means for its kind. */
  #timedOut(outcome: Outcome): Outcome {
    if (outcome.state === 'success' || outcome.state === 'failed') return outcome;
    const seconds = (this.step.timeoutMs ?? 0) / 1000;
    const code = TIMEOUT_CODES[executorKey(this.action)];
    return failure(code, `it took longer than its limit of ${seconds} s`, { state: 'timeout', meta: outcome.meta });
  }
}

function mayTryAgain(
  outcome: Outcome,
  retry: RetryPolicy | null,
  tries: number,
): outcome is Exclude<Outcome, { state: 'success' }> {
  return outcome.state !== 'success' && outcome.error.retryable && retry !== null && tries < retry.maxAttempts;
}

/** Before the try after `tries`. Exponential: 1, 2, 4, … times the first; linear: 1, 2, 3, … times. */
export function stepBackoffMs(retry: RetryPolicy | null, tries: number): number {
  if (retry === null) return 0;
  const factor = retry.strategy === 'linear' ? tries : 2 ** Math.min(tries - 1, 50);
  return Math.min(retry.initialBackoffMs * factor, retry.backoffCapMs);
}

function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.after(ms, end);
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
  });
}

type Run = (steps: readonly Step[], place: StepPlace) => Promise<Outcome>;

/** A list that somebody else made must not become a thousand agents. */
const MAX_ITEMS = 1_000;

/** All branches at once. Its output is the outputs of the branches in their order; one that did not succeed is `null`. */
function executeParallel(step: ParallelStep, place: StepPlace, run: Run): Promise<Outcome> {
  const work = step.branches.map((branch) => (signal: AbortSignal) => run(branch, { ...place, signal }));
  return joined(work, step.join, work.length, place);
}

/** The same steps for each item, each in data of its own. */
async function executeFanOut(step: FanOutStep, place: StepPlace, run: Run): Promise<Outcome> {
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
async function executeLoop(step: LoopStep, place: StepPlace, run: Run): Promise<Outcome> {
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

interface DerivedSignal {
  readonly signal: AbortSignal;
  abort(reason: AbortReason): void;
  /** Lets go of the outer signal; whoever derived it calls this when it is over. */
  release(): void;
}

/** Aborted with the outer signal, or by itself; the first reason stays. */
export function deriveSignal(outer: AbortSignal): DerivedSignal {
  const controller = new AbortController();
  // A fan-out has a hundred workers that listen, and that is no leak.
  setMaxListeners(0, controller.signal);
  const pass = () => controller.abort(outer.reason);
  if (outer.aborted) pass();
  else outer.addEventListener('abort', pass, { once: true });
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    release: () => outer.removeEventListener('abort', pass),
  };
}
