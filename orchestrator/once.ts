import type { Claim, RunFacts } from '../src/domain/claim.js';
import type { Instant } from '../src/domain/clock.js';
import { findIssue, type Issue } from '../src/domain/issue.js';
import type { Outcome } from '../src/domain/outcome.js';
import type { Draft } from './draft.js';
import { isEligible } from './eligibility.js';
import { mainHold, permitOf, probeNow } from './holds.js';
import { isRateLimited, pollIfDue } from './poll.js';
import { refreshRequested, retryRequested } from './requests.js';
import { pick, readyList } from './select.js';
import { startBlocker } from './start-blocker.js';
import type { OnceResult, State } from './state.js';

/**
 * A daemon that gives every eligible issue one run and leaves. The first good poll names the issues; later polls only look
 * after what runs. When nothing runs any more and nothing more can start, one last poll tells which issues are finished, so that
 * their workspaces are tidied up as always.
 */
export function beginOnce(draft: Draft, only: string | null, now: Instant): void {
  draft.set({ once: { only, due: null, results: {}, lookBackAfterSeq: null, isOver: false } });
  probeNow(draft, now);
  if (only === null) return;
  // Whoever names an issue wants it, parked or not.
  const named = issueNamed(draft.state, only);
  if (named) retryRequested(draft, named.id, now);
}

/** A poll was answered: the first good one names what is due, and one asked for at the end says that it is over. */
export function observeOnce(draft: Draft, seq: number, now: Instant): void {
  const { once, poll } = draft.state;
  if (once === null || poll.inFlightSeq === seq) return;
  if (once.due === null && poll.failure === null) {
    // A look back that was asked for on no news at all is none.
    draft.set({ once: { ...once, due: nameDue(draft, once.only, now), lookBackAfterSeq: null } });
  } else if (once.lookBackAfterSeq !== null && seq > once.lookBackAfterSeq) {
    draft.set({ once: { ...once, isOver: true } });
  }
}

/** Whoever waits is due now: a person, or a person's cron job, asks for it. Parked issues stay parked. */
function nameDue(draft: Draft, only: string | null, now: Instant): string[] {
  const named = only === null ? null : issueNamed(draft.state, only);
  const isMeant = (issue: Issue) => only === null || issue.id === named?.id;
  for (const claim of Object.values(draft.state.claims)) {
    const { status } = claim;
    if (status.kind === 'waiting' && status.dueAtMs > now.wallMs && isMeant(claim.issue))
      draft.putClaim({ ...claim, status: { ...status, dueAtMs: now.wallMs } });
  }
  const ready = readyList({ ...draft.state, once: null }, now);
  // Nothing was started yet: what runs is what an earlier daemon left, and it goes on once that is cleared away.
  const left = Object.values(draft.state.claims).filter(({ status }) => status.kind === 'running');
  return [...ready, ...left].flatMap(({ issue }) => (isMeant(issue) ? [issue.id] : []));
}

/** Its one run has begun; one that was only claimed may still come to nothing. */
export function markOnceStarted(draft: Draft, issueId: string): void {
  const { once } = draft.state;
  if (once === null) return;
  const due = once.due?.filter((id) => id !== issueId) ?? null;
  draft.set({ once: { ...once, due, lookBackAfterSeq: null, isOver: false } });
}

/** How a run of this daemon ended. That one which an earlier daemon left is closed now is no result of ours. */
export function recordOnceResult(draft: Draft, { issue }: Claim, run: RunFacts, outcome: Outcome): void {
  const { once, instance } = draft.state;
  if (once === null || !run.runId.startsWith(`${instance}-`)) return;
  const result = { identifier: issue.identifier, runId: run.runId, ...resultOf(outcome) };
  draft.set({ once: { ...once, results: { ...once.results, [issue.id]: result } } });
}

/** Leaves when everything is worked off and tidied up. */
export function finishOnce(draft: Draft, now: Instant): void {
  const { once, claims, read, removals, shutdown, config } = draft.state;
  if (once === null || shutdown !== null || read !== null || Object.keys(removals).length > 0) return;
  if (Object.values(claims).some(({ status }) => status.kind === 'running')) return;
  const isLookingBack = once.lookBackAfterSeq !== null;
  // Nobody may look back before the reset, and nobody waits for it either.
  const isForbidden = draft.state.poll.inFlightSeq === null && isRateLimited(draft.state, now);
  if (once.isOver || (isForbidden && (isLookingBack || isWorkedOff(draft.state, now)))) {
    const deadlineAwakeMs = now.awakeMs + config.runtime.shutdownTimeoutMs;
    draft.set({ once: { ...once, isOver: true }, shutdown: { deadlineAwakeMs, exited: false } });
  } else if (!isLookingBack && isWorkedOff(draft.state, now)) {
    draft.set({ once: { ...once, lookBackAfterSeq: draft.state.seq } });
    refreshRequested(draft, now);
    pollIfDue(draft, now);
  }
}

/** As a process exits: 1 when something failed, or when it cannot be told whether there was anything to do. */
export function onceExitCode(state: State): 0 | 1 {
  const { once, poll, pausedSinceMs } = state;
  if (once === null || once.due === null || poll.failure !== null || pausedSinceMs !== null) return 1;
  if (mainHold(state) !== null) return 1;
  const results = onceResults(state);
  if (once.only !== null && results.length === 0) return 1;
  return results.every(({ ok }) => ok) && skippedIssues(state).length === 0 ? 0 : 1;
}

/** How the runs ended; one that has not ended is left behind, and that is a failure too. */
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

/** Issues that were to run, still could, and did not. */
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

/** Nothing runs; is there nothing left that could? */
function isWorkedOff(state: State, now: Instant): boolean {
  if (state.once?.due === null) return state.poll.failure !== null || isRateLimited(state, now);
  // Of a poll that is too old the last look makes a new one, and with it everything goes on.
  return startBlocker(state, now) !== null || permitOf(state, now) === 'none' || pick(state, now).length === 0;
}

/** A run that was ended because its issue had moved on did what it should. */
function resultOf(outcome: Outcome): Pick<OnceResult, 'ok' | 'code' | 'message'> {
  if (outcome.state === 'success') return { ok: true, code: null, message: null };
  const { code, message } = outcome.error;
  return { ok: code === 'CANCELLED_BY_ORCHESTRATOR', code, message };
}
