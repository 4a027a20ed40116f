import type { Clock } from './clock.js';

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
