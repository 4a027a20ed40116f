import { setMaxListeners } from 'node:events';
import type { AbortReason } from '../../src/domain/outcome.js';

export interface DerivedSignal {
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
