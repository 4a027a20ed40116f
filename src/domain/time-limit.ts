import type { Clock } from './clock.js';

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
