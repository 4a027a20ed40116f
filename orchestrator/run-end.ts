import type { Claim, RunFacts } from '../src/domain/claim.js';
import type { Instant } from '../src/domain/clock.js';
import { scopeOf } from '../src/domain/errors.js';
import { type Issue, standingOf } from '../src/domain/issue.js';
import { assertNever } from '../src/domain/json.js';
import { failure, type Outcome, type OutcomeError } from '../src/domain/outcome.js';
import type { StopReason } from '../src/domain/run.js';
import type { Question } from '../src/domain/run-signal.js';
import { CONTINUATION_MS } from './backoff.js';
import type { Draft } from './draft.js';
import { answeredPush, hasMovedOn, openPush } from './held-push.js';
import { probeSucceeded } from './holds.js';
import { park, requeue, requeueInterrupted, waitUntil } from './park-and-wait.js';
import { failRun } from './run-failed.js';
import { recordFinished, recordRunEnd } from './run-record.js';

/** A stop reason with a higher weight replaces an earlier one, because the reason decides what happens after the exit. */
const WEIGHT: { readonly [reason in StopReason]: number } = {
  terminal: 9,
  // Higher than a move of the issue: an issue that a person stopped stays stopped when it becomes active again.
  operator: 8,
  gone: 7,
  inactive: 7,
  unroutable: 7,
  budget: 6,
  input_timeout: 5,
  day_budget: 4,
  stalled: 3,
  shutdown: 2,
};

/** Requests a stop. Only `endRun` frees the slot, once the process tree is gone. */
export function requestStop(draft: Draft, issueId: string, reason: StopReason, now: Instant): void {
  const claim = draft.claim(issueId);
  const run = claim?.live.run;
  if (claim?.status.kind !== 'running' || !run) return;
  if (run.stop !== null && WEIGHT[reason] <= WEIGHT[run.stop]) return;
  // An operator's stop is stored with the run, so it survives a crash.
  const { run: facts } = claim.status;
  const stopping = draft.putClaim({
    ...claim,
    status: reason === 'operator' ? { kind: 'running', run: { ...facts, requestedAfterExit: 'stop' } } : claim.status,
    live: { ...claim.live, run: { ...run, stop: reason, grace: null } },
  });
  if (run.stage === 'claiming') {
    // The run has no process yet and gets none: `confirmPersist` finds no claiming run.
    endRun(
      draft,
      stopping,
      claim.status.run,
      failure('INTERRUPTED', 'stopped before it began', { state: 'cancelled' }),
      now,
    );
  } else if (run.stop === null) {
    draft.noteOn(stopping, 'info', 'stopping run', { reason });
    draft.order({ type: 'stop_run', runId: claim.status.run.runId, reason });
  }
}

/** Decides what happens to an issue after its run has ended. */
export function endRun(draft: Draft, claim: Claim, run: RunFacts, outcome: Outcome, now: Instant): void {
  draft.drop('runs', run.runId);
  recordRunEnd(draft, claim, run, outcome, now);
  const hasBegun = claim.live.run?.stage !== 'claiming';
  // Answers to reads ordered before the exit do not show what the run changed.
  const refusals = outcome.state !== 'success' && isLimit(outcome.error) ? claim.live.refusals : 0;
  const live = { issueSeq: draft.nextSeq(), refusals, run: null };
  const ended: Claim = { ...claim, daemonDeaths: deathsAfter(claim, run), live };
  if (claim.status.kind === 'parked') {
    const question = run.questions[0] ?? claim.status.question;
    draft.putClaim({ ...ended, status: { ...claim.status, run: null, question } });
    draft.noteOn(ended, 'warn', 'unkillable processes are gone, slot is free');
    return;
  }
  const stop = claim.live.run?.stop ?? null;
  const push = openPush(run);
  if (push !== null && stop !== 'gone' && hasMovedOn(standingOf(claim.issue, draft.state.config.tracker)))
    return park(draft, ended, 'input_required', 'the push of its work is not approved', now, {
      question: push,
      threadId: run.threadId,
    });
  switch (stop) {
    case 'terminal':
      // The issue may have been reopened while its run was stopping.
      if (standingOf(claim.issue, draft.state.config.tracker) !== 'terminal') return draft.release(claim.issue.id);
      recordFinished(draft, claim, true, now);
      return removeWorkspace(draft, claim.issue);
    case 'inactive':
      if (standingOf(claim.issue, draft.state.config.tracker) === 'inactive') recordFinished(draft, claim, false, now);
      return draft.release(claim.issue.id);
    case 'unroutable':
    case 'gone':
      return draft.release(claim.issue.id);
    case 'operator':
      return park(draft, ended, 'stopped_by_operator', 'stopped by an operator', now, { threadId: run.threadId });
    case 'budget':
      return park(draft, ended, 'budget', 'the token budget of the issue is spent', now, { threadId: run.threadId });
    case 'input_timeout': {
      const question = run.questions[0] ?? questionOf(outcome);
      return park(draft, ended, 'input_required', 'no answer in time', now, { question, threadId: run.threadId });
    }
    case 'day_budget':
    case 'shutdown':
      if (!hasBegun) return requeue(draft, ended, run, now);
      if (run.questions.length > 0 && (claim.live.run?.limits.onInputTimeout === 'park' || push !== null))
        return park(draft, ended, 'input_required', 'Baton ended while the agent waited for an answer', now, {
          question: run.questions[0] ?? null,
          threadId: run.threadId,
        });
      if (ended.daemonDeaths >= MAX_DAEMON_DEATHS) return parkAsDeadly(draft, ended, run, now);
      return outcome.state === 'success'
        ? finishSuccessfulRun(draft, ended, run, now)
        : requeueInterrupted(draft, ended, run, now);
    case 'stalled':
      return failRun(draft, ended, run, stallError(outcome), now);
    case null:
      if (outcome.state === 'success') return finishSuccessfulRun(draft, ended, run, now);
      return failRun(draft, ended, run, outcome.error, now, claim.live.run?.phase === 'preparing');
    default:
      return assertNever(stop);
  }
}

/**
 * An issue may be the cause of the deaths, and it would resume for ever, because an interruption is no failure. Smaller than the five
 * starts in ten minutes after which systemd gives up (`baton service`).
 */
const MAX_DAEMON_DEATHS = 3;

/** Nothing tells which of the active runs ended the daemon, so a death counts for each of them. */
function deathsAfter({ daemonDeaths, live }: Claim, run: RunFacts): number {
  // This daemon survived the run.
  if (live.run?.stage === 'started') return 0;
  return live.run?.stage === 'left' && !run.isInShutdown ? daemonDeaths + 1 : daemonDeaths;
}

function parkAsDeadly(draft: Draft, claim: Claim, run: RunFacts, now: Instant): void {
  const message = `the daemon died ${claim.daemonDeaths} times in a row while this issue ran; see its log and the system's journal`;
  park(draft, claim, 'daemon_died', message, now, { question: answeredPush(run.resume), threadId: run.threadId });
}

function isLimit({ code }: OutcomeError): boolean {
  return code === 'tracker_rate_limited';
}

export function removeWorkspace(draft: Draft, issue: Issue): void {
  if (draft.claim(issue.id)) draft.release(issue.id);
  if (issue.id in draft.state.removals) return;
  draft.put('removals', issue.id, issue.identifier);
  draft.order({ type: 'remove_workspace', issue });
}

function finishSuccessfulRun(draft: Draft, claim: Claim, run: RunFacts, now: Instant): void {
  if (run.probe) probeSucceeded(draft, claim.issue.id);
  const reset: Claim = { ...claim, failures: 0, failedAsProbe: false };
  waitUntil(draft, reset, now, {
    dueAtMs: now.wallMs + CONTINUATION_MS,
    reason: 'continuation',
    cause: 'poll',
    attempt: 1,
    baseline: run.hash,
  });
  draft.noteOn(claim, 'debug', 'run finished, looking again soon', { run_number: run.number });
}

/** A stall while the model service is unreachable counts as an outage of the service. The executor reports that. */
function stallError(outcome: Outcome): OutcomeError {
  if (outcome.state !== 'success' && scopeOf(outcome.error.code) === 'daemon') return outcome.error;
  return { code: 'stall_timeout', message: 'no progress for codex.stall_timeout_ms', retryable: false };
}

function questionOf(outcome: Outcome): Question | null {
  return outcome.state === 'success' ? null : (outcome.error.question ?? null);
}
