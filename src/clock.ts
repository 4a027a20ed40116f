import type { Clock, Instant } from './domain/clock.js';

/** Where time comes from; replaced in tests. */
interface TimeSources {
  wallNow(): number;
  monotonicNow(): number;
  /** Returns how to cancel it. `holdsProcess`: whether the process stays alive for it. */
  setTimer(callback: () => void, delayMs: number, holdsProcess: boolean): () => void;
}

export interface ClockOptions extends Partial<TimeSources> {
  readonly heartbeatMs?: number;
  /** Nobody looked at the clock for longer than this: the machine or the daemon was asleep. */
  readonly maxGapMs?: number;
}

export interface SystemClock extends Clock {
  /** Hears by how much the wall clock was set back. Returns how to stop listening. */
  onSetBack(listener: (byMs: number) => void): () => void;
  /** Drops all timers and sets no new ones. Reading the time stays possible. */
  close(): void;
}

const SET_BACK_MS = 1_000;
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * The real clock. A heartbeat looks at the monotonic clock every second; awake time is the sum of the steps between two
 * looks, of which a step that is too long (sleep, SIGSTOP, a blocked event loop) counts as one heartbeat. Timers are set
 * on awake time: one that rings too early by it is set again for what is left.
 */
export function createClock(options: ClockOptions = {}): SystemClock {
  const { heartbeatMs = 1_000, maxGapMs = 3_000 } = options;
  const sources: TimeSources = { ...SYSTEM, ...options };
  const timers = new Set<() => void>();
  const listeners = new Set<(byMs: number) => void>();
  let lastLookMs = sources.monotonicNow();
  let awakeMs = 0;
  let offsetMs = wallOffset(sources);
  let isClosed = false;

  const look = (): number => {
    const nowMs = sources.monotonicNow();
    const stepMs = Math.max(0, nowMs - lastLookMs);
    awakeMs += stepMs > maxGapMs ? heartbeatMs : stepMs;
    lastLookMs = nowMs;
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
    look();
    const backMs = offsetMs - wallOffset(sources);
    offsetMs -= backMs;
    if (backMs > SET_BACK_MS) for (const listener of [...listeners]) listener(backMs);
  };
  start(beat, heartbeatMs, false);

  return {
    now: () => ({ awakeMs: look(), ...localDay(sources.wallNow()) }),
    after(delayMs, callback) {
      const dueMs = look() + Math.max(0, delayMs);
      let cancel = (): void => {};
      const arm = (leftMs: number): void => {
        cancel = start(ring, Math.min(Math.ceil(leftMs), MAX_TIMER_MS), true);
      };
      const ring = (): void => {
        const leftMs = dueMs - look();
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

/** By how much the wall clock is ahead of the monotonic one. Both must be read in one go: a stop in between looks like a jump. */
function wallOffset(sources: TimeSources): number {
  for (;;) {
    const beforeMs = sources.monotonicNow();
    const offsetMs = sources.wallNow() - beforeMs;
    if (sources.monotonicNow() - beforeMs < SET_BACK_MS / 10) return offsetMs;
  }
}

/** The calendar knows days of 23 and 25 hours; arithmetic does not. */
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
