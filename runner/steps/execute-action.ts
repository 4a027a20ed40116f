import { pause } from '../../src/domain/clock.js';
import { BatonError, toBatonError } from '../../src/domain/errors.js';
import { type AbortReason, cancelled, failure, failureOf, type Outcome } from '../../src/domain/outcome.js';
import type { RunSignal } from '../../src/domain/run-signal.js';
import type { ActionStep, RenderedAction, RetryPolicy } from '../../src/domain/steps/plan.js';
import { renderText } from '../../src/domain/steps/tokens.js';
import type { StepFacts } from '../executors/executor.js';
import { execute, executorKey, TIMEOUT_CODES } from '../executors/executors.js';
import type { RunContext } from '../run-context.js';
import { deriveSignal } from './derive-signal.js';
import { type RunScope, renderAction } from './run-scope.js';
import { createStepContext } from './step-context.js';
import { cutOutput } from './step-output.js';

export interface StepResult {
  readonly outcome: Outcome;
  readonly tries: number;
}

/**
 * Fills the data of the run into a step, then executes it until it succeeds, may not be repeated, or its tries are used up. Within one
 * run, steps with the same idempotency key are executed once; the later ones wait for the first and share its output. Never throws.
 */
export async function executeAction(
  step: ActionStep,
  scope: RunScope,
  run: RunContext,
  signal: AbortSignal,
): Promise<StepResult> {
  const index = run.nextStepIndex();
  let action: RenderedAction;
  let idempotencyKey: string | null;
  try {
    const values = scope.values(index);
    idempotencyKey = step.idempotencyKey === null ? null : renderKey(step.idempotencyKey, values);
    action = renderAction(step.action, values, run.prompts);
  } catch (error) {
    return { outcome: failureOf(toBatonError(error)), tries: 0 };
  }
  const facts = { id: step.id, index, timeoutMs: step.timeoutMs, idempotencyKey };
  const start = () => new StepExecution(step, action, facts, run, signal).run();
  if (idempotencyKey === null) return start();
  return executeOnce(`${executorKey(action)} ${idempotencyKey}`, start, run, signal);
}

async function executeOnce(
  name: string,
  start: () => Promise<StepResult>,
  { outcomesByKey, config }: RunContext,
  signal: AbortSignal,
): Promise<StepResult> {
  for (let first = outcomesByKey.get(name); first; first = outcomesByKey.get(name)) {
    const outcome = await untilAborted(first, signal);
    // The first step may have been cancelled alone, because a step beside it had decided the join.
    if (outcome.state !== 'cancelled' || signal.aborted) return { outcome, tries: 0 };
  }
  const own = start();
  // Kept until the run ends, so only as much of it as later steps see.
  const outcome = own.then((result) => cutSuccess(result.outcome, config.runtime.maxInlineOutputBytes));
  outcomesByKey.set(name, outcome);
  // A failure has no output to share: a later step with this key tries again.
  if ((await outcome).state !== 'success') outcomesByKey.delete(name);
  return own;
}

function renderKey(template: string, values: Parameters<typeof renderText>[1]): string {
  const key = renderText(template, values).trim();
  if (key !== '') return key;
  throw new BatonError('step_data_error', `idempotency_key ${template} is empty once it is filled in`);
}

function cutSuccess(outcome: Outcome, maxBytes: number): Outcome {
  return outcome.state === 'success' ? { ...outcome, output: cutOutput(outcome.output, maxBytes) } : outcome;
}

function untilAborted(outcome: Promise<Outcome>, signal: AbortSignal): Promise<Outcome> {
  return new Promise((resolve) => {
    const abort = () => resolve(cancelled(signal.reason as AbortReason));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    void outcome.then((done) => {
      signal.removeEventListener('abort', abort);
      resolve(done);
    });
  });
}

/** One step with all its tries. */
class StepExecution {
  readonly #openQuestions = new Set<string>();

  constructor(
    private readonly step: ActionStep,
    private readonly action: RenderedAction,
    private readonly facts: StepFacts,
    private readonly context: RunContext,
    private readonly signal: AbortSignal,
  ) {}

  async run(): Promise<StepResult> {
    const { step, context, signal } = this;
    const { clock } = context.services;
    // An agent works for hours and must not be silent. Any other step with a time limit may be.
    context.pulse.begin(this, step.timeoutMs === null || executorKey(this.action) === 'agent_cli');
    try {
      for (let tries = 1; ; tries += 1) {
        const outcome = await this.#tryOnce();
        if (!mayTryAgain(outcome, step.retry, tries) || signal.aborted) return { outcome, tries };
        const delayMs = stepBackoffMs(step.retry, tries);
        const { code, message: detail } = outcome.error;
        context.warn('step failed, trying again', { step: step.id, code, detail, tries, delay_ms: delayMs });
        // The pause before a retry does not count as silence: it looks like an open item.
        context.pulse.progress(this, 1);
        await pause(clock, delayMs, signal);
        if (signal.aborted) return { outcome: cancelled(signal.reason as AbortReason), tries };
        context.pulse.progress(this, 0);
      }
    } finally {
      context.pulse.end(this);
    }
  }

  async #tryOnce(): Promise<Outcome> {
    const { step, action, context, facts } = this;
    const { clock, executors } = context.services;
    const limited = deriveSignal(this.signal);
    const cancel =
      step.timeoutMs === null ? () => {} : clock.after(step.timeoutMs, () => limited.abort('step_timeout'));
    try {
      const emit = (signal: RunSignal) => this.#emit(signal);
      const outcome = await execute(
        executors,
        action,
        createStepContext(context, { facts, action: step.action, signal: limited.signal, emit }),
      );
      return limited.signal.reason === 'step_timeout' ? this.#timedOut(outcome) : outcome;
    } catch (error) {
      return failureOf(toBatonError(error));
    } finally {
      cancel();
      limited.release();
      // The agent that asked has ended. The next step must not look as if it waited for an answer.
      for (const questionId of [...this.#openQuestions]) this.#emit({ type: 'question_closed', questionId });
    }
  }

  /** Progress and phases go into the pulse of the run; all other signals are sent on with the names that threads have outside of it. */
  #emit(signal: RunSignal): void {
    const { pulse, threads } = this.context;
    if (signal.type === 'progress') return pulse.progress(this, signal.openItems);
    if (signal.type === 'phase') return signal.phase === 'finishing' ? pulse.finishing(this) : undefined;
    if (signal.type === 'asked') this.#openQuestions.add(signal.question.id);
    if (signal.type === 'question_closed') this.#openQuestions.delete(signal.questionId);
    for (const translated of threads.translate(this.step.id, signal)) this.context.emit(translated);
  }

  /** An executor ends as "cancelled" when its time is over. The step loop knows the code for its kind. */
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

/** The delay after `tries` tries. Exponential: 1, 2, 4, … times the first delay; linear: 1, 2, 3, … times. */
export function stepBackoffMs(retry: RetryPolicy | null, tries: number): number {
  if (retry === null) return 0;
  const factor = retry.strategy === 'linear' ? tries : 2 ** Math.min(tries - 1, 50);
  return Math.min(retry.initialBackoffMs * factor, retry.backoffCapMs);
}
