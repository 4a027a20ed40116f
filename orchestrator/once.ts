import type { Claim, RunFacts } from '../src/domain/claim.js';
import type { Instant } from '../src/domain/clock.js';
import { findIssue, type Issue } from '../src/domain/issue.js';
import type { Outcome } from '../src/domain/outcome.js';
import type { Draft } from './draft.js';
import { isEligible } from './eligibility.js';
import { mainHold, permitOf, probeNow } from './holds.js';
import { isRateLimited, pollIfDue } from './poll.js';
import { refreshRequested, retryNow } from './requests.js';
import { pick, readyList } from './select.js';
import { startBlocker } from './start-blocker.js';
import type { OnceResult, State } from './state.js';

/**
 * `--once`: the daemon gives every eligible issue one run and exits. The first successful poll selects the issues; later polls only
 * update active runs. When nothing runs and nothing can start, one final poll shows which issues are finished, so that their workspaces
 * are removed as usual.
 */
export function beginOnce(draft: Draft, only: string | null, now: Instant): void {
  draft.set({ once: { only, due: null, results: {}, finalPollAfterSeq: null, isOver: false } });
  probeNow(draft, now);
  if (only === null) return;
  // An issue named on the command line runs even when it is parked.
  const named = issueNamed(draft.state, only);
  if (named) retryNow(draft, named.id, now);
}

/** Handles an answered poll: the first successful one selects the due issues, the final one ends the daemon. */
export function observeOnce(draft: Draft, seq: number, now: Instant): void {
  const { once, poll } = draft.state;
  if (once === null || poll.inFlightSeq === seq) return;
  if (once.due === null && poll.failure === null) {
    // A final poll that was ordered before any successful poll does not count.
    draft.set({ once: { ...once, due: selectDue(draft, once.only, now), finalPollAfterSeq: null } });
  } else if (once.finalPollAfterSeq !== null && seq > once.finalPollAfterSeq) {
    draft.set({ once: { ...once, isOver: true } });
  }
}

/** Makes waiting issues due now, because a person or a cron job asked for them. Parked issues stay parked. */
function selectDue(draft: Draft, only: string | null, now: Instant): string[] {
  const named = only === null ? null : issueNamed(draft.state, only);
  const isSelected = (issue: Issue) => only === null || issue.id === named?.id;
  for (const claim of Object.values(draft.state.claims)) {
    const { status } = claim;
    if (status.kind === 'waiting' && status.dueAtMs > now.wallMs && isSelected(claim.issue))
      draft.putClaim({ ...claim, status: { ...status, dueAtMs: now.wallMs } });
  }
  const ready = readyList({ ...draft.state, once: null }, now);
  // No run has started yet, so running claims are interrupted runs. They continue after their cleanup.
  const left = Object.values(draft.state.claims).filter(({ status }) => status.kind === 'running');
  return [...ready, ...left].flatMap(({ issue }) => (isSelected(issue) ? [issue.id] : []));
}

/** Marks the one run of an issue as started. A claim alone does not count, because it may fail. */
export function markOnceStarted(draft: Draft, issueId: string): void {
  const { once } = draft.state;
  if (once === null) return;
  const due = once.due?.filter((id) => id !== issueId) ?? null;
  draft.set({ once: { ...once, due, finalPollAfterSeq: null, isOver: false } });
}

/** Records how a run of this daemon ended. Closing an interrupted run of an earlier daemon does not count. */
export function recordOnceResult(draft: Draft, { issue }: Claim, run: RunFacts, outcome: Outcome): void {
  const { once, instance } = draft.state;
  if (once === null || !run.runId.startsWith(`${instance}-`)) return;
  const result = { identifier: issue.identifier, runId: run.runId, ...resultOf(outcome) };
  draft.set({ once: { ...once, results: { ...once.results, [issue.id]: result } } });
}

/** Exits when all work and all cleanup is done. */
export function finishOnce(draft: Draft, now: Instant): void {
  const { once, claims, read, removals, shutdown, config } = draft.state;
  if (once === null || shutdown !== null || read !== null || Object.keys(removals).length > 0) return;
  if (Object.values(claims).some(({ status }) => status.kind === 'running')) return;
  const isFinalPollOrdered = once.finalPollAfterSeq !== null;
  // A rate limit forbids the final poll; do not wait for its reset.
  const isForbidden = draft.state.poll.inFlightSeq === null && isRateLimited(draft.state, now);
  if (once.isOver || (isForbidden && (isFinalPollOrdered || isWorkedOff(draft.state, now)))) {
    const deadlineAwakeMs = now.awakeMs + config.runtime.shutdownTimeoutMs;
    draft.set({ once: { ...once, isOver: true }, shutdown: { deadlineAwakeMs, exited: false } });
  } else if (!isFinalPollOrdered && isWorkedOff(draft.state, now)) {
    draft.set({ once: { ...once, finalPollAfterSeq: draft.state.seq } });
    refreshRequested(draft, now);
    pollIfDue(draft, now);
  }
}

/** The exit code: 1 when a run failed, or when it is unknown whether there was work. */
export function onceExitCode(state: State): 0 | 1 {
  const { once, poll, pausedSinceMs } = state;
  if (once === null || once.due === null || poll.failure !== null || pausedSinceMs !== null) return 1;
  if (mainHold(state) !== null) return 1;
  const results = onceResults(state);
  if (once.only !== null && results.length === 0) return 1;
  return results.every(({ ok }) => ok) && skippedIssues(state).length === 0 ? 0 : 1;
}

/** The results of all runs. A run that has not ended counts as failed. */
export function onceResults({ once, runs, claims }: State): OnceResult[] {
  const results = { ...once?.results };
  for (const [runId, issueId] of Object.entries(runs)) {
    const claim = claims[issueId];
    if (!claim) continue;
    const parked = claim.status.kind === 'parked' ? claim.status.message : null;
    const code = parked === null ? 'INTERRUPTED' : 'unkillable';
    const message = parked ?? 'the daemon left before its end';
    results[issueId] = { identifier: claim.issue.identifier, runId, ok: false, code, message };
  }
  return Object.values(results);
}

/** Issues that were due, can still run, and did not run. */
export function skippedIssues(state: State): Issue[] {
  return (state.once?.due ?? []).flatMap((id) => {
    const claim = state.claims[id];
    if (claim) return claim.status.kind === 'waiting' ? [claim.issue] : [];
    const issue = state.candidates[id];
    return issue && isEligible(issue, state) ? [issue] : [];
  });
}

function issueNamed({ claims, candidates }: State, name: string): Issue | null {
  const claimed = Object.values(claims).map(({ issue }) => issue);
  return findIssue([...claimed, ...Object.values(candidates)], name, (issue) => issue);
}

/** True when nothing can start any more. Call it only when nothing runs. */
function isWorkedOff(state: State, now: Instant): boolean {
  if (state.once?.due === null) return state.poll.failure !== null || isRateLimited(state, now);
  // After a poll that is too old, the final poll brings new data and work continues.
  return startBlocker(state, now) !== null || permitOf(state, now) === 'none' || pick(state, now).length === 0;
}

/** A run that was stopped because its issue left the active states is a success. */
function resultOf(outcome: Outcome): Pick<OnceResult, 'ok' | 'code' | 'message'> {
  if (outcome.state === 'success') return { ok: true, code: null, message: null };
  const { code, message } = outcome.error;
  return { ok: code === 'CANCELLED_BY_ORCHESTRATOR', code, message };
}
