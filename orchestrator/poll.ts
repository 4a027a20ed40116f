import type { Instant } from '../src/domain/clock.js';
import type { RateLimit } from '../src/domain/ports.js';
import type { Draft } from './draft.js';
import type { State } from './state.js';

/** The assumed cost of a poll when the tracker does not report it: a few pages and a batch of ids. */
const UNCOUNTED_COST = 5;
/** Runs use the tracker too, through their tools, so they get the same share as polls. */
const SHARE_OF_RUNS = 2;

/** Spreads the remaining quota over the time until its reset. After the reset it has no effect. */
export function cadenceMs(intervalMs: number, rateLimit: RateLimit | null, now: Instant): number {
  if (rateLimit === null || rateLimit.resetAtMs <= now.wallMs) return intervalMs;
  const untilResetMs = rateLimit.resetAtMs - now.wallMs;
  const { cost } = rateLimit;
  const costOfPoll = cost === undefined ? UNCOUNTED_COST : Math.max(1, cost) * SHARE_OF_RUNS;
  const pollsLeft = Math.floor(rateLimit.remaining / costOfPoll);
  return pollsLeft <= 0
    ? Math.max(intervalMs, untilResetMs)
    : Math.max(intervalMs, Math.ceil(untilResetMs / pollsLeft));
}

/** Combines the limits of two reads of one poll: the scarcer quota, and the sum of both costs. */
export function combineLimits(one: RateLimit | null, other: RateLimit | null): RateLimit | null {
  if (one === null || other === null) return one ?? other;
  const scarcer = other.remaining < one.remaining ? other : one;
  const isCounted = one.cost !== undefined && other.cost !== undefined;
  return isCounted ? { ...scarcer, cost: (one.cost ?? 0) + (other.cost ?? 0) } : scarcer;
}

export function isRateLimited({ poll }: Pick<State, 'poll'>, now: Instant): boolean {
  return isUsedUp(poll.rateLimit, now);
}

export function isUsedUp(rateLimit: RateLimit | null, now: Instant): boolean {
  return rateLimit !== null && rateLimit.remaining <= 0 && rateLimit.resetAtMs > now.wallMs;
}

/** The tracker rejects requests until this time. The later of two such times counts. */
export function applyRateLimit(draft: Draft, reportedMs: number, now: Instant): void {
  const { poll, seq } = draft.state;
  const resetAtMs = isRateLimited(draft.state, now) ? Math.max(poll.rateLimit?.resetAtMs ?? 0, reportedMs) : reportedMs;
  const nextAtMs = Math.max(poll.nextAtMs, resetAtMs);
  draft.set({ poll: { ...poll, rateLimit: { remaining: 0, resetAtMs }, limitSeq: seq, nextAtMs } });
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
