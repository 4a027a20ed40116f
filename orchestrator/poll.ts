import type { Instant } from '../src/domain/clock.js';
import type { RateLimit } from '../src/domain/ports.js';
import type { Draft } from './draft.js';
import type { State } from './state.js';

/** What one poll may cost: a page or two of candidates and a batch of ids. */
const REQUESTS_PER_POLL = 5;

/** Spreads what is left of a quota over the time until its reset; past the reset it has no say any more. */
export function cadenceMs(intervalMs: number, rateLimit: RateLimit | null, now: Instant): number {
  if (rateLimit === null || rateLimit.resetAtMs <= now.wallMs) return intervalMs;
  const untilResetMs = rateLimit.resetAtMs - now.wallMs;
  const pollsLeft = Math.floor(rateLimit.remaining / REQUESTS_PER_POLL);
  return pollsLeft <= 0
    ? Math.max(intervalMs, untilResetMs)
    : Math.max(intervalMs, Math.ceil(untilResetMs / pollsLeft));
}

export function isRateLimited(state: State, now: Instant): boolean {
  const { rateLimit } = state.poll;
  return rateLimit !== null && rateLimit.remaining <= 0 && rateLimit.resetAtMs > now.wallMs;
}

export function pollIfDue(draft: Draft, now: Instant): void {
  const { poll, claims, leftovers, config } = draft.state;
  if (poll.inFlightSeq !== null || poll.nextAtMs > now.wallMs) return;
  const seq = draft.nextSeq();
  draft.set({ poll: { ...poll, inFlightSeq: seq } });
  const due = Object.entries(leftovers).flatMap(([id, { notBeforeMs }]) => (notBeforeMs <= now.wallMs ? [id] : []));
  const ids = [...new Set([...Object.keys(claims), ...due])];
  draft.order({ type: 'poll', seq, ids, states: config.tracker.activeStates });
}
