import { setMaxListeners } from 'node:events';
import type { AbortReason } from '../../src/domain/outcome.js';

export interface DerivedSignal {
  readonly signal: AbortSignal;
  abort(reason: AbortReason): void;
  /** Removes the listener from the outer signal. Called once the work under this signal is over. */
  release(): void;
}

/** Aborted with the outer signal or by its own `abort`; the first reason stays. */
export function deriveSignal(outer: AbortSignal): DerivedSignal {
  const controller = new AbortController();
  // Each of a hundred workers of a fan-out listens; Node would warn of a leak.
  setMaxListeners(0, controller.signal);
  const abort = () => controller.abort(outer.reason);
  if (outer.aborted) abort();
  else outer.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    release: () => outer.removeEventListener('abort', abort),
  };
}
