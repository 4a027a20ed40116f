import type { Clock } from '../src/domain/clock.js';

/** Due times use the wall clock, but timers stop while the machine sleeps. After a wake-up the next check follows within a minute. */
const LONGEST_MS = 60_000;

/**
 * The only timer of the orchestrator. It reports that time has passed, not what is due. `decide` finds out what is due, so an outdated
 * timer does no harm.
 */
export class WakeTimer {
  readonly #clock: Clock;
  readonly #onRing: () => void;
  #pending: { readonly atAwakeMs: number; cancel(): void } | null = null;

  constructor(clock: Clock, onRing: () => void) {
    this.#clock = clock;
    this.#onRing = onRing;
  }

  /** Replaces the pending timer. Null only cancels it. */
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

  /** Rings no later than this. An earlier pending timer stays. */
  bringForward(delayMs: number | null): void {
    if (delayMs === null) return;
    if (this.#pending === null || this.#clock.now().awakeMs + delayMs < this.#pending.atAwakeMs) this.set(delayMs);
  }
}
