import type { LiveRun } from '../src/domain/claim.js';
import type { Instant } from '../src/domain/clock.js';

/**
 * Silence is the time since the last progress, asleep time aside. It counts only while the agent itself is at work: hooks
 * have their own limit, an open command or tool is bounded by its own end and the turn's timeout, and while a person is
 * asked nothing can go on.
 */
export function isStalled(run: LiveRun, now: Instant): boolean {
  const atMs = stallAtAwakeMs(run);
  return atMs !== null && now.awakeMs >= atMs;
}

export function stallAtAwakeMs(run: LiveRun): number | null {
  const { stallTimeoutMs } = run.limits;
  const isCounting = run.phase === 'agent' && run.openItems === 0 && run.askedAtAwakeMs === null && run.stop === null;
  return stallTimeoutMs > 0 && isCounting ? run.lastProgressAwakeMs + stallTimeoutMs : null;
}
