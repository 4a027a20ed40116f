import type { Clock, Instant } from '../../src/domain/clock.js';

const DAY_MS = 86_400_000;
/** 2026-01-01T00:00:00Z, so that days in tests begin at multiples of DAY_MS. */
export const EPOCH_MS = Date.UTC(2026, 0, 1);

/** The instant `ms` after EPOCH_MS, as if the daemon had been started then and never slept. UTC days. */
export function at(ms: number): Instant {
  const wallMs = EPOCH_MS + ms;
  const dayStart = Math.floor(wallMs / DAY_MS) * DAY_MS;
  return {
    wallMs,
    awakeMs: ms,
    day: new Date(dayStart).toISOString().slice(0, 10),
    dayEndsAtMs: dayStart + DAY_MS,
  };
}

/** A clock that the test advances; it calls due timers in order. */
export class FakeClock implements Clock {
  #now = 0;
  #slept = 0;
  #timers = new Set<{ atMs: number; callback: () => void }>();

  now(): Instant {
    const instant = at(this.#now + this.#slept);
    return { ...instant, awakeMs: this.#now };
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { atMs: this.#now + Math.max(0, delayMs), callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Advances awake time by `ms`. */
  advance(ms: number): void {
    const target = this.#now + ms;
    for (;;) {
      const due = [...this.#timers].filter((t) => t.atMs <= target).sort((a, b) => a.atMs - b.atMs)[0];
      if (!due) break;
      this.#timers.delete(due);
      this.#now = Math.max(this.#now, due.atMs);
      due.callback();
    }
    this.#now = target;
  }

  /** The machine sleeps: the wall clock moves, nothing else does. */
  sleep(ms: number): void {
    this.#slept += ms;
  }

  get pendingTimers(): number {
    return this.#timers.size;
  }
}
