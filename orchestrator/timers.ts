import type { Clock } from '../src/domain/clock.js';

/** Due times go by the wall clock, timers stand still while the machine sleeps: whoever wakes up looks within a minute. */
const LONGEST_MS = 60_000;

/**
 * The only timer of the orchestrator. It says that time has passed, not what is due: `decide` finds that out itself, so a
 * timer that was set for something that no longer matters does nothing.
 */
export class WakeTimer {
  readonly #clock: Clock;
  readonly #onRing: () => void;
  #pending: { readonly atAwakeMs: number; cancel(): void } | null = null;

  constructor(clock: Clock, onRing: () => void) {
    this.#clock = clock;
    this.#onRing = onRing;
  }

  /** Replaces what was set before; `null` sets nothing. */
  set(wantedMs: number | null): void {
    this.#pending?.cancel();
    this.#pending = null;
    if (wantedMs === null) return;
    const delayMs = Math.min(wantedMs, LONGEST_MS);
    const cancel = this.#clock.after(delayMs, () => {
      this.#pending = null;
      this.#onRing();
    });
    this.#pending = { atAwakeMs: this.#clock.now().awakeMs + delayMs, cancel };
  }

  /** Rings no later than that; what was set to ring earlier stays. */
  bringForward(delayMs: number | null): void {
    if (delayMs === null) return;
    if (this.#pending === null || this.#clock.now().awakeMs + delayMs < this.#pending.atAwakeMs) this.set(delayMs);
  }
}
