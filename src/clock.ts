import type { Clock, Instant } from './domain/clock.js';

/** The sources of time; replaced in tests. */
interface TimeSources {
  wallNow(): number;
  monotonicNow(): number;
  /** Returns a function that cancels the timer. `holdsProcess`: whether the timer keeps the process alive. */
  setTimer(callback: () => void, delayMs: number, holdsProcess: boolean): () => void;
}

export interface ClockOptions extends Partial<TimeSources> {
  readonly heartbeatMs?: number;
  /** When the clock was not read for longer than this, the machine or the daemon was asleep. */
  readonly maxGapMs?: number;
}

export interface SystemClock extends Clock {
  /** Calls back when the wall clock is set back. Returns a function that removes the listener. */
  onSetBack(listener: (byMs: number) => void): () => void;
  /** Cancels all timers and ignores new ones. The time can still be read. */
  close(): void;
}

const SET_BACK_MS = 1_000;
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * The real clock. A heartbeat reads the monotonic clock every second. Awake time is the sum of the steps between two readings; a step
 * that is too long (sleep, SIGSTOP, a blocked event loop) counts as one heartbeat. Timers use awake time: a timer that fires too early
 * is set again for the rest.
 */
export function createClock(options: ClockOptions = {}): SystemClock {
  const { heartbeatMs = 1_000, maxGapMs = 3_000 } = options;
  const sources: TimeSources = { ...SYSTEM, ...options };
  const timers = new Set<() => void>();
  const listeners = new Set<(byMs: number) => void>();
  let lastReadMs = sources.monotonicNow();
  let awakeMs = 0;
  let offsetMs = wallOffset(sources);
  let isClosed = false;

  const readAwakeMs = (): number => {
    const nowMs = sources.monotonicNow();
    const stepMs = Math.max(0, nowMs - lastReadMs);
    awakeMs += stepMs > maxGapMs ? heartbeatMs : stepMs;
    lastReadMs = nowMs;
    return awakeMs;
  };

  const start = (callback: () => void, delayMs: number, holdsProcess: boolean): (() => void) => {
    if (isClosed) return () => {};
    const cancel = sources.setTimer(
      () => {
        timers.delete(cancel);
        callback();
      },
      delayMs,
      holdsProcess,
    );
    timers.add(cancel);
    return () => {
      timers.delete(cancel);
      cancel();
    };
  };

  const beat = (): void => {
    start(beat, heartbeatMs, false);
    readAwakeMs();
    const backMs = offsetMs - wallOffset(sources);
    offsetMs -= backMs;
    if (backMs > SET_BACK_MS) for (const listener of [...listeners]) listener(backMs);
  };
  start(beat, heartbeatMs, false);

  return {
    now: () => ({ awakeMs: readAwakeMs(), ...localDay(sources.wallNow()) }),
    after(delayMs, callback) {
      const dueMs = readAwakeMs() + Math.max(0, delayMs);
      let cancel = (): void => {};
      const arm = (leftMs: number): void => {
        cancel = start(ring, Math.min(Math.ceil(leftMs), MAX_TIMER_MS), true);
      };
      const ring = (): void => {
        const leftMs = dueMs - readAwakeMs();
        if (leftMs > 0) arm(leftMs);
        else callback();
      };
      arm(dueMs - awakeMs);
      return () => cancel();
    },
    onSetBack(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      isClosed = true;
      for (const cancel of timers) cancel();
      timers.clear();
    },
  };
}

/** The difference between wall clock and monotonic clock. A pause between the two readings would look like a jump, so it is repeated then. */
function wallOffset(sources: TimeSources): number {
  for (;;) {
    const beforeMs = sources.monotonicNow();
    const offsetMs = sources.wallNow() - beforeMs;
    if (sources.monotonicNow() - beforeMs < SET_BACK_MS / 10) return offsetMs;
  }
}

/** Uses the calendar, because a day may have 23 or 25 hours. */
export function localDay(wallMs: number): Omit<Instant, 'awakeMs'> {
  const date = new Date(wallMs);
  const [year, month, day] = [date.getFullYear(), date.getMonth(), date.getDate()];
  const two = (value: number): string => String(value).padStart(2, '0');
  return {
    wallMs,
    day: `${year}-${two(month + 1)}-${two(day)}`,
    dayEndsAtMs: new Date(year, month, day + 1).getTime(),
  };
}

const SYSTEM: TimeSources = {
  wallNow: () => Date.now(),
  monotonicNow: () => performance.now(),
  setTimer(callback, delayMs, holdsProcess) {
    const timer = setTimeout(callback, delayMs);
    if (!holdsProcess) timer.unref();
    return () => clearTimeout(timer);
  },
};
