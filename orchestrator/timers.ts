import type { Clock } from '../src/domain/clock.js';

/**
 * The only timer of the orchestrator. It says that time has passed, not what is due: `decide` finds that out itself, so a
 * timer that was set for something that no longer matters does nothing.
 */
export class WakeTimer {
  readonly #clock: Clock;
  readonly #onRing: () => void;
  #cancel: (() => void) | null = null;

  constructor(clock: Clock, onRing: () => void) {
    this.#clock = clock;
    this.#onRing = onRing;
  }

  /** Replaces what was set before; `null` sets nothing. */
  set(delayMs: number | null): void {
    this.#cancel?.();
    this.#cancel = delayMs === null ? null : this.#clock.after(delayMs, this.#onRing);
  }
}
