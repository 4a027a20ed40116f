import type { Claim } from '../src/domain/claim.js';
import type { Instant } from '../src/domain/clock.js';
import { stallAtAwakeMs } from './deadlines.js';
import { relaxedDelayMs } from './persist.js';
import type { State } from './state.js';

/**
 * The time in milliseconds until something becomes due, or null. What is already due does not count: it was just checked and waits for
 * something other than time.
 */
export function nextWakeMs(state: State, now: Instant): number | null {
  const { poll, shutdown, claims } = state;
  return earliest([
    nextRunWakeMs(state, now),
    ...(poll.inFlightSeq === null ? [poll.nextAtMs - now.wallMs] : []),
    ...(poll.rateLimit ? [poll.rateLimit.resetAtMs - now.wallMs] : []),
    ...(shutdown ? [shutdown.deadlineAwakeMs - now.awakeMs] : []),
    ...Object.values(claims).map(({ status }) => (status.kind === 'waiting' ? status.dueAtMs - now.wallMs : null)),
  ]);
}

/** The part of it that signals of runs can change. */
export function nextRunWakeMs(state: State, now: Instant): number | null {
  const { persist, holds, runs, claims } = state;
  return earliest([
    ...(persist.waiting === null ? [] : [relaxedDelayMs(persist, now)]),
    ...Object.values(holds).map(({ untilMs }) => (untilMs === null ? null : untilMs - now.wallMs)),
    ...Object.values(runs).map((issueId) => wakeOfRun(claims[issueId], now)),
  ]);
}

function wakeOfRun(claim: Claim | undefined, { awakeMs }: Instant): number | null {
  const run = claim?.live.run;
  if (claim?.status.kind !== 'running' || !run) return null;
  const stallAt = stallAtAwakeMs(run);
  return earliest([
    run.grace && run.grace.untilAwakeMs - awakeMs,
    run.askedAtAwakeMs === null ? null : run.askedAtAwakeMs + run.limits.inputTimeoutMs - awakeMs,
    stallAt === null ? null : stallAt - awakeMs,
  ]);
}

function earliest(delaysMs: readonly (number | null)[]): number | null {
  return delaysMs.reduce<number | null>(
    (next, one) => (one !== null && one > 0 && !(next !== null && next <= one) ? one : next),
    null,
  );
}
