import type { Claim, ClaimError, Parked, ParkReason, ResumeThread, RunFacts, Waiting } from '../src/domain/claim.js';
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

/** Requeues an interrupted run on its thread, without counting a failure. */
export function requeueInterrupted(
  draft: Draft,
  claim: Claim,
  run: RunFacts,
  now: Instant,
  error: ClaimError | null = null,
  delayMs = 0,
): void {
  const resume = resumeOf(run);
  waitUntil(draft, claim, now, {
    dueAtMs: now.wallMs + delayMs,
    ...(resume?.answer
      ? ({ reason: 'answer', cause: 'answer' } as const)
      : ({ reason: 'resumed', cause: 'retry' } as const)),
    attempt: run.attempt,
    resume,
    error,
  });
}

/** Requeues a run that never reached its agent, with the same reason and attempt. */
export function requeue(
  draft: Draft,
  claim: Claim,
  run: RunFacts,
  now: Instant,
  error: ClaimError | null = null,
  delayMs = 0,
): void {
  const { reason, attempt, resume } = run;
  const { cause } = run.account;
  waitUntil(draft, claim, now, { dueAtMs: now.wallMs + delayMs, reason, cause, attempt, resume, error });
}

function resumeOf(run: RunFacts): ResumeThread | null {
  if (run.threadId === null) return run.resume;
  return { threadId: run.threadId, answer: run.answered, commentsReadAtMs: run.startedAtMs };
}
