import type { Clock } from '../src/domain/clock.js';
import type { RunSignal } from '../src/domain/run-signal.js';

type CoreSignal = Exclude<RunSignal, { type: 'event' }>;

const MOST_OFTEN_MS = 1_000;

/** Lets everything through but progress that tells nothing new: the same open items within a hundredth of the stall limit. */
export function filterProgress(
  clock: Clock,
  stallTimeoutMs: number,
  pass: (signal: CoreSignal) => void,
): (signal: CoreSignal) => void {
  const everyMs = stallTimeoutMs > 0 ? Math.min(MOST_OFTEN_MS, stallTimeoutMs / 100) : MOST_OFTEN_MS;
  let lastAtMs = Number.NEGATIVE_INFINITY;
  let lastOpenItems = -1;
  return (signal) => {
    if (signal.type === 'progress') {
      const { awakeMs } = clock.now();
      if (signal.openItems === lastOpenItems && awakeMs - lastAtMs < everyMs) return;
      lastAtMs = awakeMs;
      lastOpenItems = signal.openItems;
    } else {
      // The core counts open items anew with each phase.
      lastOpenItems = -1;
    }
    pass(signal);
  };
}
