import type { Claim } from '../src/domain/claim.js';
import type { Durable, DurableClaim } from '../src/domain/durable.js';
import type { State } from './state.js';

/**
 * The state of a daemon that was here before, from what it had stored. Whatever ran then runs no more: it goes on from
 * its thread where it has one, and that counts as no failure. Due times, counts, holds and the pause stay as they were.
 */
export function restore(fresh: State, durable: Durable, wallMs: number): State {
  const { records, pausedSinceMs, ledger } = durable;
  // Only a write ends the hold of the store, and nothing is written under it. What could be loaded is no reason for one.
  const { store: _, ...holds } = durable.holds;
  const claims = Object.fromEntries(Object.entries(durable.claims).map(([id, claim]) => [id, revive(claim, wallMs)]));
  return { ...fresh, claims, records, holds, pausedSinceMs, ledger };
}

function revive(claim: DurableClaim, wallMs: number): Claim {
  const idle = { ...claim, live: { issueSeq: 0, run: null } };
  if (claim.status.kind === 'parked') return { ...idle, status: { ...claim.status, run: null } };
  if (claim.status.kind === 'waiting') return idle;
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
