import type { Claim, ClaimError, ParkReason, RunFacts } from '../src/domain/claim.js';
import type { Instant } from '../src/domain/clock.js';
import { type ErrorCode, scopeOf } from '../src/domain/errors.js';
import type { OutcomeError } from '../src/domain/outcome.js';
import { backoffMs, FIRST_BACKOFF_MS } from './backoff.js';
import type { Draft } from './draft.js';
import { answeredPush } from './held-push.js';
import { holdFor, probeInconclusive } from './holds.js';
import { park, requeue, requeueInterrupted, waitUntil } from './park-and-wait.js';
import { applyRateLimit } from './poll.js';

/**
 * Tracker errors that hold the daemon when they hit a run before it begins, because the outage affects every issue. An unreadable
 * answer (`tracker_response`) counts against its issue.
 */
const OUTAGES: ReadonlySet<ErrorCode> = new Set(['tracker_request', 'tracker_status']);

const PARKED_BY: { readonly [code: string]: ParkReason } = {
  turn_input_required: 'input_required',
  push_declined: 'input_required',
  STOPPED_BY_OPERATOR: 'stopped_by_operator',
  budget_exceeded: 'budget',
  unkillable: 'unkillable',
};

/** Handles a failed run by the scope of its error: hold the daemon, wait for the tracker, park for a person, or back off. */
export function failRun(
  draft: Draft,
  claim: Claim,
  run: RunFacts,
  error: OutcomeError,
  now: Instant,
  isUnbegun = false,
): void {
  const scope = scopeOf(error.code);
  const isOfAll = scope === 'daemon' || (isUnbegun && OUTAGES.has(error.code));
  if (isOfAll && !claim.failedAsProbe) {
    // A successful poll does not prove that comments can be read. Only a run proves that.
    const source = isUnbegun && error.code === 'tracker_auth' ? 'agent' : undefined;
    holdFor(draft, error, now, run.probe ? claim.issue.id : null, source);
    // The thread contains the work so far, so the next run resumes it instead of starting over.
    const requeueRun = run.threadId === null ? requeue : requeueInterrupted;
    const isRefusedInRun = error.code === 'tracker_auth' && !isUnbegun;
    const refused = isRefusedInRun ? { ...claim, live: { ...claim.live, isRefusedInRun } as const } : claim;
    return requeueRun(draft, refused, run, now, pickError(error));
  }
  if (run.probe) probeInconclusive(draft, now);
  if (error.code === 'issue_taken') return waitForOtherDaemon(draft, claim, run, error, now);
  if (error.code === 'tracker_rate_limited') return waitForTracker(draft, claim, run, error, now);
  if (scope === 'park') {
    const reason = PARKED_BY[error.code] ?? 'configuration';
    const push = error.code === 'push_declined' ? null : answeredPush(run.resume);
    return park(draft, claim, reason, error.message, now, {
      question: error.question ?? push,
      threadId: run.threadId,
    });
  }
  backOff(draft, { ...claim, failures: claim.failures + 1 }, run, error, now);
}

/** Another daemon runs the issue. Waiting for it is not a failure of the issue. */
function waitForOtherDaemon(draft: Draft, claim: Claim, run: RunFacts, error: OutcomeError, now: Instant): void {
  const delayMs = draft.state.config.agent.maxRetryBackoffMs;
  requeue(draft, claim, run, now, pickError(error), delayMs);
  draft.noteOn(claim, 'warn', 'issue is taken, looking again later', { detail: error.message, delay_ms: delayMs });
}

/** The tracker limits requests. The run resumes after the reset, and this is not a failure of the issue. */
function waitForTracker(draft: Draft, claim: Claim, run: RunFacts, error: OutcomeError, now: Instant): void {
  // A reset time in the past would cause an immediate retry in an endless loop.
  const resetAtMs = error.resetAtMs ?? now.wallMs + draft.state.config.polling.intervalMs;
  applyRateLimit(draft, Math.max(resetAtMs, now.wallMs + FIRST_BACKOFF_MS), now);
  // Repeated rejections wait longer each time: each may cost a turn and delays all other issues.
  const refusals = claim.live.refusals + 1;
  const delayMs = backoffMs(refusals, draft.state.config.agent.maxRetryBackoffMs, `${claim.issue.id}:${run.number}`);
  const requeueRun = run.threadId === null ? requeue : requeueInterrupted;
  requeueRun(draft, { ...claim, live: { ...claim.live, refusals } }, run, now, pickError(error), delayMs);
  draft.noteOn(claim, 'warn', 'tracker limits our requests, going on later', { detail: error.message });
}

function backOff(draft: Draft, claim: Claim, run: RunFacts, error: OutcomeError, now: Instant): void {
  const { maxAttempts, maxRetryBackoffMs } = draft.state.config.agent;
  const { failures } = claim;
  if (maxAttempts > 0 && failures >= maxAttempts) {
    return park(
      draft,
      claim,
      'too_many_failures',
      `${failures} runs failed, the last with ${error.code}: ${error.message}`,
      now,
      { question: answeredPush(run.resume) },
    );
  }
  const delayMs = backoffMs(failures, maxRetryBackoffMs, `${claim.issue.id}:${run.number}`);
  // Keep an answer that no turn has received yet.
  const resume = run.threadId === null ? run.resume : null;
  const reason = resume?.answer ? 'answer' : 'retry';
  waitUntil(draft, claim, now, {
    dueAtMs: now.wallMs + delayMs,
    reason,
    cause: reason,
    attempt: failures,
    error: pickError(error),
    resume,
  });
  draft.noteOn(claim, 'warn', 'run failed, retrying', {
    code: error.code,
    detail: error.message,
    failures,
    delay_ms: delayMs,
    run_number: run.number,
  });
}

function pickError({ code, message }: OutcomeError): ClaimError {
  return { code, message };
}
