import type { Clock } from '../src/domain/clock.js';
import type { RunSignal } from '../src/domain/run-signal.js';

type CoreSignal = Exclude<RunSignal, { type: 'event' }>;

/** Far below any stall limit, far above what a flooding agent could use to keep the core busy. */
const PROGRESS_EVERY_MS = 100;

/** Lets everything through but progress that tells nothing new: the same open items within a tenth of a second. */
export function filterProgress(clock: Clock, pass: (signal: CoreSignal) => void): (signal: CoreSignal) => void {
  let lastAtMs = Number.NEGATIVE_INFINITY;
  let lastOpenItems = -1;
  return (signal) => {
    if (signal.type === 'progress') {
      const { awakeMs } = clock.now();
      if (signal.openItems === lastOpenItems && awakeMs - lastAtMs < PROGRESS_EVERY_MS) return;
      lastAtMs = awakeMs;
      lastOpenItems = signal.openItems;
    } else {
      // The core counts open items anew with each phase.
      lastOpenItems = -1;
    }
    pass(signal);
  };
}
