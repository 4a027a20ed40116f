import type { Claim, LiveRun, ParkReason, Waiting } from '../src/domain/claim.js';
import type { Instant } from '../src/domain/clock.js';
import { type Issue, standingOf, stateKey } from '../src/domain/issue.js';
import type { RunCause, StopReason } from '../src/domain/run.js';
import { continuationMs } from './backoff.js';
import type { Draft } from './draft.js';
import { hasBudget } from './eligibility.js';
import { changeHash } from './hash.js';
import { awaitsPush, hasMovedOn, isAboutPush } from './held-push.js';
import { park, waitUntil } from './park-and-wait.js';
import { removeWorkspace, requestStop } from './run-end.js';
import { recordFinished } from './run-record.js';
import { recordOf } from './state.js';

/**
 * Applies a read to one claimed issue. `found: null` means that the tracker confirmed that the issue is gone; unknown issues never
 * reach this function. Answers older than the claim's issue data are ignored.
 */
export function reconcile(draft: Draft, issueId: string, found: Issue | null, seq: number, now: Instant): void {
  const known = draft.claim(issueId);
  if (!known || seq <= known.live.issueSeq) return;
  const standing = found === null ? 'gone' : standingOf(found, draft.state.config.tracker);
  // The answer follows the old trust rule. The next answer follows the new one.
  if (standing === 'unroutable' && seq <= draft.state.poll.trustSeq) return;
  const claim = draft.putClaim(withIssue(known, found, seq));
  if (hasMovedOn(standing) && awaitsPush(claim)) return;
  switch (claim.status.kind) {
    case 'running':
      return reconcileRun(draft, claim, claim.live.run, standing, now);
    case 'waiting':
      if (standing === 'active') return checkForChange(draft, claim, claim.status, now);
      return releaseClaim(draft, claim, standing, now);
    case 'parked':
      // The run's processes still exist, so the workspace must stay and no new run may start.
      if (claim.status.run !== null) return;
      if (standing !== 'active') return releaseClaim(draft, claim, standing, now);
      if (changeHash(claim.issue) !== claim.status.hash) return unpark(draft, claim, claim.status.reason, 'poll', now);
  }
}

/** Decides what the standing of an issue means for its run: continue, stop, or stop after a grace period. */
export function reconcileRun(
  draft: Draft,
  claim: Claim,
  run: LiveRun | null,
  standing: StopReason | 'active',
  now: Instant,
): void {
  if (!run) return;
  if (standing === 'active') {
    if (run.grace) draft.putClaim({ ...claim, live: { ...claim.live, run: { ...run, grace: null } } });
    return;
  }
  if (standing === 'gone') return requestStop(draft, claim.issue.id, standing, now);
  // Agents move their issues before the work is pushed.
  if (claim.status.kind === 'running' && isAboutPush(claim.status.run)) return;
  const ownMove = run.ownMove && stateKey(run.ownMove.state) === stateKey(claim.issue.state) ? run.ownMove : null;
  // An open tool call may be the mover. run-signals.ts checks again when it returns.
  if (ownMove === null && run.hostCalls === 0) return requestStop(draft, claim.issue.id, standing, now);
  // The agent moved its own issue, so it may finish its turn.
  const startAwakeMs = ownMove?.awakeMs ?? now.awakeMs;
  const isKnown = ownMove === null && run.grace !== null;
  const untilAwakeMs = isKnown ? run.grace.untilAwakeMs : startAwakeMs + run.limits.finishGraceMs;
  draft.putClaim({ ...claim, live: { ...claim.live, run: { ...run, grace: { untilAwakeMs, reason: standing } } } });
}

/** Checks whether the last run changed the issue, on a read that was ordered after its exit. */
function checkForChange(draft: Draft, claim: Claim, waiting: Waiting, now: Instant): void {
  if (waiting.baseline === null) return;
  const isChanged = changeHash(claim.issue) !== waiting.baseline;
  if (isChanged) {
    const dueAtMs = waiting.foundIdle ? now.wallMs : waiting.dueAtMs;
    draft.putClaim({ ...claim, idleRuns: 0, status: { ...waiting, baseline: null, foundIdle: false, dueAtMs } });
  } else if (!waiting.foundIdle && waiting.dueAtMs <= now.wallMs) {
    markIdle(draft, { ...claim, idleRuns: claim.idleRuns + 1 }, waiting, now);
  }
}

function markIdle(draft: Draft, claim: Claim, waiting: Waiting, now: Instant): void {
  const { maxRunsWithoutProgress, maxRetryBackoffMs } = draft.state.config.agent;
  if (maxRunsWithoutProgress > 0 && claim.idleRuns >= maxRunsWithoutProgress) {
    return park(draft, claim, 'no_progress', `${claim.idleRuns} runs in a row left the issue as it was`, now);
  }
  const dueAtMs = waiting.sinceMs + continuationMs(claim.idleRuns, maxRetryBackoffMs);
  draft.putClaim({ ...claim, status: { ...waiting, foundIdle: true, dueAtMs } });
}

function releaseClaim(draft: Draft, claim: Claim, standing: StopReason, now: Instant): void {
  // A parked issue was stuck, so its runs did not finish it.
  const mayBeOurs = claim.status.kind === 'waiting' && (standing === 'terminal' || standing === 'inactive');
  const isFinished = mayBeOurs && recordFinished(draft, claim, standing === 'terminal', now);
  if (!isFinished) draft.noteOn(claim, 'info', 'issue released', { reason: standing, state: claim.issue.state });
  if (standing === 'terminal') removeWorkspace(draft, claim.issue);
  else draft.release(claim.issue.id);
}

/** Requeues a parked issue with its failure counts reset. */
export function unpark(draft: Draft, claim: Claim, reason: ParkReason, cause: RunCause, now: Instant): void {
  if (reason === 'budget' && !hasBudget(draft.state, claim.issue.id, draft.state.config)) return;
  const rested: Claim = { ...claim, failures: 0, idleRuns: 0, failedAsProbe: false, daemonDeaths: 0 };
  const next =
    recordOf(draft.state, claim.issue.id).runs === 0
      ? ({ reason: 'first', attempt: null } as const)
      : ({ reason: 'retry', attempt: Math.max(1, claim.failures) } as const);
  waitUntil(draft, rested, now, { dueAtMs: now.wallMs, cause, ...next });
  draft.noteOn(claim, 'info', 'issue no longer parked', { reason });
}

function withIssue(claim: Claim, found: Issue | null, seq: number): Claim {
  const live = { ...claim.live, issueSeq: seq };
  // Keep the same object when nothing changed, so an idle poll stores nothing.
  const isSame = found === null || JSON.stringify(found) === JSON.stringify(claim.issue);
  return { ...claim, live, issue: isSame ? claim.issue : found };
}
