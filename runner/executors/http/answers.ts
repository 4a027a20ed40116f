import { toBatonError } from '../../../src/domain/errors.js';
import { cancelled, failureOf, type Outcome } from '../../../src/domain/outcome.js';
import type { StepContext } from '../executor.js';

/** Work of a step was given up because its signal was aborted. Never leaves this folder. */
export class StepStopped extends Error {
  override readonly name = 'StepStopped';
}

/** The edge of every executor here: whatever `work` throws becomes an outcome. */
export async function stepOutcome(context: StepContext, work: () => Promise<Outcome>): Promise<Outcome> {
  const { signal } = context;
  try {
    if (signal.aborted) throw new StepStopped();
    return await work();
  } catch (error) {
    return error instanceof StepStopped && signal.aborted ? cancelled(signal.reason) : failureOf(toBatonError(error));
  }
}

/** Waits for `promise`, but no longer than until the abort. What becomes of it afterwards is its owner's matter. */
export async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(new StepStopped());
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

export async function pause({ clock, signal }: StepContext, ms: number): Promise<void> {
  let cancel = () => {};
  const over = new Promise<void>((resolve) => {
    cancel = clock.after(ms, resolve);
  });
  try {
    await untilAborted(over, signal);
  } finally {
    cancel();
  }
}
