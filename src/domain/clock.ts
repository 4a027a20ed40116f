/**
 * Time as the engine sees it. `awakeMs` does not advance while the machine sleeps or the daemon is stopped, so that
 * sleep never counts as an agent's silence or towards a timeout; it starts anew with each process. `wallMs` is for due times
 * that outlive the process and for people.
 */
export interface Instant {
  readonly wallMs: number;
  readonly awakeMs: number;
  /** The local calendar day, `YYYY-MM-DD`, and when it ends: daily budgets. */
  readonly day: string;
  readonly dayEndsAtMs: number;
}

export interface Clock {
  now(): Instant;
  /** Calls back once `awakeMs` has advanced by `delayMs`. The returned function cancels; cancelling twice is fine. */
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

/** For a whole list of a tracker: a board of many pages takes its time; whether each of them comes is for the adapter to watch. */
export const LIST_LIMIT_MS = 5 * 60_000;

/**
 * Gives `ask` at most `limitMs`: then its signal is aborted and `onLate` answers in its place, even when `ask` ignores the
 * signal. An outer signal aborts it too; what `ask` throws is thrown.
 */
export function withinLimit<T>(
  clock: Clock,
  limitMs: number,
  ask: (signal: AbortSignal) => Promise<T>,
  onLate: () => Error,
  outer?: AbortSignal,
): Promise<T> {
  const controller = new AbortController();
  const abort = () => controller.abort(outer?.reason);
  return new Promise<T>((resolve, reject) => {
    const cancel = clock.after(limitMs, () => {
      reject(onLate());
      controller.abort();
    });
    outer?.addEventListener('abort', abort, { once: true });
    if (outer?.aborted) abort();
    Promise.resolve()
      .then(() => ask(controller.signal))
      .then(resolve, reject)
      .finally(() => {
        cancel();
        outer?.removeEventListener('abort', abort);
      });
  });
}
