import type { Clock } from '../../src/domain/clock.js';
import { BatonError, toBatonError } from '../../src/domain/errors.js';
import { type AbortReason, cancelled, failure, failureOf, type Outcome } from '../../src/domain/outcome.js';
import type { RunSignal } from '../../src/domain/run-signal.js';
import type { ActionStep, RenderedAction, RetryPolicy } from '../../src/domain/steps/plan.js';
import { renderText } from '../../src/domain/steps/tokens.js';
import { execute, executorKey, TIMEOUT_CODES } from '../executors/executors.js';
import { cutOutput } from './cut-output.js';
import { deriveSignal } from './derived-signal.js';
import { renderAction } from './render-action.js';
import type { RunScope } from './run-scope.js';
import type { StepRun } from './step-run.js';

export interface Executed {
  readonly outcome: Outcome;
  readonly tries: number;
}

/**
 * The step loop: fills in the data once, then tries until it succeeds, may not be repeated, or its tries are used up. In one run
 * equal idempotency keys are executed once; whoever comes second waits for the first and has its output. Never throws.
 */
export async function executeAction(
  step: ActionStep,
  scope: RunScope,
  run: StepRun,
  signal: AbortSignal,
): Promise<Executed> {
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
