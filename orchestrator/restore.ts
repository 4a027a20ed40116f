import type { Claim, Hold, Waiting } from '../src/domain/claim.js';
import type { Durable, DurableClaim } from '../src/domain/durable.js';
import type { State } from './state.js';

/**
 * The state of a daemon that was here before, from what it had stored. Whatever ran then runs no more: it goes on from
 * its thread where it has one, and that counts as no failure. Due times, counts, holds and the pause stay as they were.
 */
export function restore(fresh: State, durable: Durable, wallMs: number): State {
  const { records, pausedSinceMs, ledger } = durable;
  // Only a write ends the hold of the store, and nothing is written under it. What could be loaded is no reason for one.
  const { store: _, ...kept } = durable.holds;
  const holds = Object.fromEntries(Object.entries(kept).map(([source, hold]) => [source, heldSince(hold, wallMs)]));
  const claims = Object.fromEntries(Object.entries(durable.claims).map(([id, claim]) => [id, revive(claim, wallMs)]));
  return { ...fresh, claims, records, holds, pausedSinceMs, ledger };
}

function revive(claim: DurableClaim, wallMs: number): Claim {
  const idle = { ...claim, live: { issueSeq: 0, run: null } };
  if (claim.status.kind === 'parked') return { ...idle, status: { ...claim.status, run: null } };
  if (claim.status.kind === 'waiting') return { ...idle, status: waitingSince(claim.status, wallMs) };
  const { threadId, resume, attempt } = claim.status.run;
  const goOn = threadId === null ? resume : { threadId, answer: null };
  return {
    ...idle,
    status: {
      kind: 'waiting',
      sinceMs: wallMs,
      dueAtMs: wallMs,
      reason: goOn?.answer ? 'answer' : 'resumed',
      attempt,
      error: null,
      baseline: null,
      foundIdle: false,
      resume: goOn,
    },
  };
}

/** Written on a clock that has been set back since: what was to take ten seconds still takes ten, and not a year. */
function waitingSince(status: Waiting, wallMs: number): Waiting {
  const aheadMs = Math.max(0, status.sinceMs - wallMs);
  return { ...status, sinceMs: status.sinceMs - aheadMs, dueAtMs: status.dueAtMs - aheadMs };
}

function heldSince(hold: Hold, wallMs: number): Hold {
  const aheadMs = Math.max(0, hold.sinceMs - wallMs);
  return { ...hold, sinceMs: hold.sinceMs - aheadMs, untilMs: hold.untilMs === null ? null : hold.untilMs - aheadMs };
}
