import { withinLimit } from '../../../src/domain/clock.js';
import { toBatonError } from '../../../src/domain/errors.js';
import { cancelled, failureOf, type Outcome } from '../../../src/domain/outcome.js';
import type { StepContext } from '../executor.js';

/** The work of a step was aborted by its signal. Never leaves this folder. */
export class StepStopped extends Error {
  override readonly name = 'StepStopped';
}

/** Turns whatever `work` throws into an outcome. Every executor of this folder goes through it. */
export async function stepOutcome(context: StepContext, work: () => Promise<Outcome>): Promise<Outcome> {
  const { signal } = context;
  try {
    if (signal.aborted) throw new StepStopped();
    return await work();
  } catch (error) {
    return error instanceof StepStopped && signal.aborted ? cancelled(signal.reason) : failureOf(toBatonError(error));
  }
}

/** Waits for `promise` until the signal is aborted. The promise itself goes on; its owner handles it. */
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

/**
 * Calls whose result several steps of a run use. The first step makes the call and the others wait for it. When one of them is stopped,
 * the others still get the result; the call is aborted when no step waits any more. A call that failed or was aborted is repeated for the
 * next step.
 */
export class SharedCalls<T> {
  readonly #calls = new Map<string, SharedCall<T>>();

  /** Throws what the call throws, and `StepStopped` when `signal` is aborted. */
  async get(key: string, signal: AbortSignal, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    let shared = this.#calls.get(key);
    if (shared === undefined || shared.isLost) {
      shared = new SharedCall(call);
      this.#calls.set(key, shared);
    }
    return shared.wait(signal);
  }

  forget(key: string): void {
    this.#calls.delete(key);
  }
}

class SharedCall<T> {
  readonly #controller = new AbortController();
  readonly #result: Promise<T>;
  #waiting = 0;
  #isSettled = false;
  #isLost = false;

  constructor(call: (signal: AbortSignal) => Promise<T>) {
    this.#result = call(this.#controller.signal);
    this.#result.then(
      () => {
        this.#isSettled = true;
      },
      () => {
        this.#isSettled = true;
        this.#isLost = true;
      },
    );
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  async wait(signal: AbortSignal): Promise<T> {
    this.#waiting += 1;
    try {
      return await untilAborted(this.#result, signal);
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0 && !this.#isSettled) this.#abandon();
    }
  }

  #abandon(): void {
    this.#isLost = true;
    this.#controller.abort();
  }
}

const LIMIT_MS = 2_000;

/**
 * Asks a service to delete or cancel something of a run. It has two seconds and a separate signal, because the step may be stopped
 * already. A failure is only a warning. Never throws.
 */
export async function cleanUp(
  context: Pick<StepContext, 'clock' | 'warn'>,
  warning: string,
  request: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const onLate = () => new StepStopped(`no answer within ${LIMIT_MS} ms`);
  await withinLimit(context.clock, LIMIT_MS, request, onLate).catch((error) => {
    context.warn(warning, { error: toBatonError(error).message });
  });
}

/** The same while the step goes on. The end of the run waits for it. */
export function cleanUpInBackground(
  context: StepContext,
  warning: string,
  request: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const open = context.resources.get('http/clean-up', () => {
    const pending = new Set<Promise<void>>();
    context.resources.atEnd(async () => void (await Promise.all(pending)));
    return pending;
  });
  const done: Promise<void> = cleanUp(context, warning, request).finally(() => open.delete(done));
  open.add(done);
  return done;
}
