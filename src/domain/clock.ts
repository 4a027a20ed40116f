/**
 * A point in time. `awakeMs` does not advance while the machine sleeps or the daemon is stopped, so that sleep does not count
 * towards a timeout. It starts again with each process. `wallMs` is for stored due times and for display.
 */
export interface Instant {
  readonly wallMs: number;
  readonly awakeMs: number;
  /** The local calendar day, `YYYY-MM-DD`, and its end, for daily budgets. */
  readonly day: string;
  readonly dayEndsAtMs: number;
}

export interface Clock {
  now(): Instant;
  /** Calls back when `awakeMs` has advanced by `delayMs`. The returned function cancels and can be called twice. */
  after(delayMs: number, callback: () => void): () => void;
}

export const DAY_MS = 86_400_000;

/** Resolves after `ms`, or at once when the signal is aborted. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
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

/** Time limit for reading a whole list from a tracker. The adapter limits the time of each page. */
export const LIST_LIMIT_MS = 5 * 60_000;

/**
 * Gives `act` at most `limitMs`. Then its signal is aborted and the error of `onLate` is thrown, even when `act` ignores the signal. An
 * outer signal aborts `act` too. Errors of `act` are passed on.
 */
export async function withinLimit<T>(
  clock: Clock,
  limitMs: number,
  act: (signal: AbortSignal) => Promise<T>,
  onLate: () => Error,
  outer?: AbortSignal,
): Promise<T> {
  const controller = new AbortController();
  const abort = () => controller.abort(outer?.reason);
  outer?.addEventListener('abort', abort, { once: true });
  if (outer?.aborted) abort();
  const limit = new TimeLimit(clock, limitMs);
  try {
    const result = await limit.race(Promise.resolve().then(async () => ({ value: await act(controller.signal) })));
    if (result) return result.value;
    controller.abort();
    throw onLate();
  } finally {
    limit.end();
    outer?.removeEventListener('abort', abort);
  }
}

/** A period of awake time that promises can be raced against. The caller ends it. */
export class TimeLimit {
  readonly #over: Promise<void>;
  #isOver = false;
  #end: () => void = () => {};

  constructor(clock: Clock, ms: number) {
    this.#over = new Promise((resolve) => {
      let cancel = () => {};
      this.#end = () => {
        cancel();
        this.#isOver = true;
        resolve();
      };
      if (ms > 0) cancel = clock.after(ms, this.#end);
      else this.#end();
    });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Ends it early. Can be called twice. */
  end(): void {
    this.#end();
  }

  /** The value of the promise, or undefined when the time is over first. */
  race<T>(promise: Promise<T>): Promise<T | undefined> {
    return Promise.race([promise, this.#over.then(() => undefined)]);
  }
}
