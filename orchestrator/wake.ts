import type { Instant } from '../src/domain/clock.js';
import { stallAtAwakeMs } from './deadlines.js';
import { relaxedDelayMs } from './persist.js';
import type { State } from './state.js';

/**
 * The time in milliseconds until something becomes due, or null. What is already due does not count: it was just checked and waits for
 * something other than time.
 */
export function nextWakeMs(state: State, now: Instant): number | null {
  let next: number | null = null;
  const consider = (delayMs: number) => {
    if (delayMs > 0 && (next === null || delayMs < next)) next = delayMs;
  };
  if (state.poll.inFlightSeq === null) consider(state.poll.nextAtMs - now.wallMs);
  for (const hold of Object.values(state.holds)) if (hold.untilMs !== null) consider(hold.untilMs - now.wallMs);
  if (state.poll.rateLimit) consider(state.poll.rateLimit.resetAtMs - now.wallMs);
  if (state.persist.waiting !== null) consider(relaxedDelayMs(state.persist, now));
  if (state.shutdown) consider(state.shutdown.deadlineAwakeMs - now.awakeMs);
  for (const claim of Object.values(state.claims)) {
    if (claim.status.kind === 'waiting') consider(claim.status.dueAtMs - now.wallMs);
    const run = claim.live.run;
    if (claim.status.kind !== 'running' || !run) continue;
    if (run.grace) consider(run.grace.untilAwakeMs - now.awakeMs);
    if (run.askedAtAwakeMs !== null) consider(run.askedAtAwakeMs + run.limits.inputTimeoutMs - now.awakeMs);
    const stallAt = stallAtAwakeMs(run);
    if (stallAt !== null) consider(stallAt - now.awakeMs);
  }
  return next;
}
