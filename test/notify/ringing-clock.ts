import type { Clock } from '../../src/domain/clock.js';
import { at } from '../support/fake-clock.js';

/** A clock whose timers fire on demand. A test waits for a certain timer, so no result depends on speed. */
export class RingingClock implements Clock {
  readonly #timers = new Set<{ readonly delayMs: number; readonly callback: () => void }>();
  #onSet = (): void => {};
  nowMs = 0;

  now() {
    return at(this.nowMs);
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { delayMs, callback };
    this.#timers.add(timer);
    this.#onSet();
    return () => this.#timers.delete(timer);
  }

  get delays(): number[] {
    return [...this.#timers].map(({ delayMs }) => delayMs);
  }

  /** Waits until such a timer is set, lets its time pass, and calls it. */
  async ring(delayMs: number): Promise<void> {
    for (;;) {
      const timer = [...this.#timers].find((one) => one.delayMs === delayMs);
      if (timer) {
        this.#timers.delete(timer);
        this.nowMs += delayMs;
        return timer.callback();
      }
      await new Promise<void>((resolve) => {
        this.#onSet = resolve;
      });
    }
  }
}
