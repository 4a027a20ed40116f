import type { Clock, Instant } from '../../src/domain/clock.js';

const DAY_MS = 86_400_000;
const EPOCH_MS = Date.UTC(2026, 0, 1);

interface Entry {
  readonly atMs: number;
  readonly order: number;
  callback: (() => void) | null;
}

/**
 * Time that only moves from one event to the next. `nowMs` is true time, which no simulated clock shows: the
 * wall clock is off by `wallOffsetMs`, which sleep and people change.
 */
export class VirtualTime {
  nowMs = 0;
  wallOffsetMs = 0;
  /** The true time at which the wall clock was last set back. */
  setBackAtMs = Number.NEGATIVE_INFINITY;
  #order = 0;
  readonly #heap: Entry[] = [];
  #day = { number: -1, name: '' };

  get wallMs(): number {
    return EPOCH_MS + this.nowMs + this.wallOffsetMs;
  }

  setBack(byMs: number): void {
    this.wallOffsetMs -= byMs;
    this.setBackAtMs = this.nowMs;
  }

  /** Returns a function that cancels it. */
  after(delayMs: number, callback: () => void): () => void {
    const entry: Entry = { atMs: this.nowMs + Math.max(0, delayMs), order: this.#order++, callback };
    this.#push(entry);
    return () => {
      entry.callback = null;
    };
  }

  /** Runs the next event. Returns false when there is none. */
  step(): boolean {
    for (;;) {
      const entry = this.#pop();
      if (!entry) return false;
      const { callback } = entry;
      if (callback === null) continue;
      this.nowMs = Math.max(this.nowMs, entry.atMs);
      entry.callback = null;
      callback();
      return true;
    }
  }

  /** The wall clock of a process that has been awake for this long. */
  instant(awakeMs: number): Instant {
    const { wallMs } = this;
    const number = Math.floor(wallMs / DAY_MS);
    if (number !== this.#day.number) {
      this.#day = { number, name: new Date(number * DAY_MS).toISOString().slice(0, 10) };
    }
    return { wallMs, awakeMs, day: this.#day.name, dayEndsAtMs: (number + 1) * DAY_MS };
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(entry);
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = heap[above];
      if (!parent || isBefore(parent, entry)) break;
      heap[index] = parent;
      index = above;
    }
    heap[index] = entry;
  }

  #pop(): Entry | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (!last || heap.length === 0) return first;
    let index = 0;
    for (;;) {
      let below = 2 * index + 1;
      const right = heap[below + 1];
      const left = heap[below];
      if (!left) break;
      if (right && isBefore(right, left)) below += 1;
      const child = heap[below];
      if (!child || isBefore(last, child)) break;
      heap[index] = child;
      index = below;
    }
    heap[index] = last;
    return first;
  }
}

/** The clock of one process. It starts with the process and rings while `rings` returns true. */
export function clockOf(time: VirtualTime, rings: () => boolean): Clock {
  const bornMs = time.nowMs;
  return {
    now: () => time.instant(time.nowMs - bornMs),
    after: (delayMs, callback) =>
      time.after(delayMs, () => {
        if (rings()) callback();
      }),
  };
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
