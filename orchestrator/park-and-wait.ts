import type { Claim, Parked, ParkReason, RunFacts, Waiting } from '../src/domain/claim.js';
import type { Instant } from '../src/domain/clock.js';
import type { Question } from '../src/domain/run-signal.js';
import type { Draft } from './draft.js';
import { changeHash } from './hash.js';

/** Parks a claim: it has no run until a person acts or the issue changes. */
export function park(
  draft: Draft,
  claim: Claim,
  reason: ParkReason,
  message: string,
  now: Instant,
  extra: {
    readonly question?: Question | null;
    readonly threadId?: string | null;
    readonly run?: RunFacts | null;
  } = {},
): void {
  const { question = null, threadId = null, run = null } = extra;
  const hash = changeHash(claim.issue);
  const status: Parked = { kind: 'parked', reason, sinceMs: now.wallMs, message, hash, question, threadId, run };
  draft.putClaim({ ...claim, status });
  draft.noteOn(claim, 'warn', 'issue parked', { reason, detail: message });
}

/** Lets a claim wait for its next run at a known time. */
export function waitUntil(
  draft: Draft,
  claim: Claim,
  now: Instant,
  next: Pick<Waiting, 'dueAtMs' | 'reason' | 'attempt' | 'cause'> &
    Partial<Pick<Waiting, 'error' | 'baseline' | 'resume'>>,
): void {
  const status: Waiting = {
    kind: 'waiting',
    sinceMs: now.wallMs,
    error: null,
    baseline: null,
    foundIdle: false,
    resume: null,
    ...next,
  };
  draft.putClaim({ ...claim, status });
}
