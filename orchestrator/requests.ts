import type { Claim } from '../src/domain/claim.js';
import type { Instant } from '../src/domain/clock.js';
import type { Config } from '../src/domain/config.js';
import { standingOf } from '../src/domain/issue.js';
import type { Answer } from '../src/domain/run-signal.js';
import type { Draft } from './draft.js';
import { hasBudget } from './eligibility.js';
import { answeredPush, awaitsPush, hasMovedOn } from './held-push.js';
import { liftHold, probeNow } from './holds.js';
import { type IssueRequest, judgeRequest } from './judge-request.js';
import { park, waitUntil } from './park-and-wait.js';
import { cadenceMs, isRateLimited } from './poll.js';
import { unpark } from './reconcile.js';
import { requestStop } from './run-end.js';
import { closeQuestion } from './run-signals.js';
import { lineUp } from './select.js';
import { recordOf } from './state.js';

// Requests of people and of the workflow file. Each is safe at any time and may be repeated.

/** Stops the run, or parks the issue. */
export function stopRequested(draft: Draft, issueId: string, now: Instant): void {
  if (!isAccepted(draft, issueId, { kind: 'stop' })) return;
  const claim = draft.claim(issueId) ?? claimCandidate(draft, issueId);
  if (claim?.status.kind === 'running') requestStop(draft, issueId, 'operator', now);
  else if (claim?.status.kind === 'waiting')
    park(draft, claim, 'stopped_by_operator', 'stopped by an operator', now, {
      question: answeredPush(claim.status.resume),
    });
  else if (claim?.status.kind === 'parked')
    draft.putClaim({
      ...claim,
      status: { ...claim.status, reason: 'stopped_by_operator', message: 'stopped by an operator' },
    });
}

/** Makes the issue due now, with no failures and a new budget. */
export function retryRequested(draft: Draft, issueId: string, now: Instant): void {
  if (isAccepted(draft, issueId, { kind: 'retry' })) retryNow(draft, issueId, now);
}

/** Like `retryRequested`, without judging the request: at the start of `--issue`, and after a run that a person wanted to repeat. */
export function retryNow(draft: Draft, issueId: string, now: Instant): void {
  const record = recordOf(draft.state, issueId);
  if (record.tokens > 0) draft.put('records', issueId, { ...record, budgetFrom: record.tokens });
  probeNow(draft, now);
  const claim = draft.claim(issueId);
  if (claim?.status.kind === 'running' && claim.live.run && claim.live.run.stop !== null) {
    draft.putClaim({
      ...claim,
      status: { kind: 'running', run: { ...claim.status.run, requestedAfterExit: 'retry' } },
    });
  } else if (claim?.status.kind === 'waiting') {
    draft.putClaim({
      ...claim,
      failures: 0,
      idleRuns: 0,
      daemonDeaths: 0,
      status: { ...claim.status, dueAtMs: now.wallMs, cause: 'operator', baseline: null },
    });
  } else if (claim?.status.kind === 'parked' && claim.status.run === null) {
    const isOver = hasMovedOn(standingOf(claim.issue, draft.state.config.tracker));
    // There is nothing to start, and the question about the push would be lost.
    if (isOver && awaitsPush(claim)) return;
    unpark(draft, claim, claim.status.reason, 'operator', now);
  }
}

export function answerGiven(draft: Draft, issueId: string, questionId: string, answer: Answer, now: Instant): void {
  const claim = draft.claim(issueId);
  if (!claim || !isAccepted(draft, issueId, { kind: 'answer', questionId, isDecline: answer.kind === 'decline' }))
    return;
  if (claim.status.kind === 'running' && claim.live.run) {
    const { run } = claim.status;
    draft.order({ type: 'answer_run', runId: run.runId, questionId, answer });
    const question = run.questions.find(({ id }) => id === questionId);
    const answered = question ? { question, answer } : run.answered;
    return closeQuestion(draft, claim, { ...run, answered }, claim.live.run, questionId, now);
  }
  if (claim.status.kind !== 'parked' || claim.status.question === null) return;
  const { question, threadId } = claim.status;
  // The answer about a held push needs no thread: its run starts no agent.
  const isForRun = threadId !== null || question.heldPush !== undefined;
  const resume = isForRun ? { threadId: threadId ?? '', answer: { question, answer } } : null;
  waitUntil(draft, { ...claim, failures: 0, idleRuns: 0, daemonDeaths: 0 }, now, {
    dueAtMs: now.wallMs,
    reason: 'answer',
    cause: 'answer',
    attempt: Math.max(1, claim.failures),
    resume,
  });
  draft.noteOn(claim, 'info', 'answer given, going on', { question_id: questionId });
}

export function messageGiven(draft: Draft, issueId: string, text: string): void {
  const claim = draft.claim(issueId);
  if (!isAccepted(draft, issueId, { kind: 'message' }) || claim?.status.kind !== 'running') return;
  draft.order({ type: 'steer_run', runId: claim.status.run.runId, text });
}

/** The state may have changed since the API accepted the request. */
function isAccepted(draft: Draft, issueId: string, request: IssueRequest): boolean {
  const verdict = judgeRequest(draft.state, issueId, request);
  if (!verdict.isAccepted)
    draft.note('warn', 'request refused', { issueId, fields: { request: request.kind, code: verdict.code } });
  return verdict.isAccepted;
}

export function pauseRequested(draft: Draft, now: Instant): void {
  if (draft.state.pausedSinceMs !== null) return;
  draft.set({ pausedSinceMs: now.wallMs });
  draft.note('info', 'paused: nothing new is started until resumed');
}

export function resumeRequested(draft: Draft): void {
  if (draft.state.pausedSinceMs === null) return;
  draft.set({ pausedSinceMs: null });
  draft.note('info', 'resumed');
}

export function refreshRequested(draft: Draft, now: Instant): void {
  pollSoon(draft, 'person', now);
}

/** A webhook announced a change. While the quota is low, the next poll finds it. */
export function changeAnnounced(draft: Draft, now: Instant): void {
  const { poll } = draft.state;
  if (poll.slowMs === null && !isRateLimited(draft.state, now)) pollSoon(draft, poll.again ?? 'tracker', now);
}

function pollSoon(draft: Draft, again: 'person' | 'tracker', now: Instant): void {
  const { poll } = draft.state;
  draft.set({ poll: poll.inFlightSeq === null ? { ...poll, nextAtMs: now.wallMs } : { ...poll, again } });
}

/** New settings apply to the next starts; a shorter poll interval applies at once, as far as the quota allows. */
export function configChanged(draft: Draft, config: Config, workflowHash: string, now: Instant): void {
  const { poll } = draft.state;
  const paceMs = cadenceMs(config.polling.intervalMs, poll.rateLimit, now);
  const nextAtMs = Math.min(poll.nextAtMs, now.wallMs + paceMs);
  const trustSeq = isSameTrust(draft.state.config, config) ? poll.trustSeq : draft.state.seq;
  draft.set({ config, workflowHash, poll: { ...poll, nextAtMs, trustSeq } });
  lineUp(draft);
  liftHold(draft, 'workflow', 'the workflow has changed');
  for (const [issueId, claim] of Object.entries(draft.state.claims)) {
    if (claim.status.kind !== 'parked') continue;
    const { reason } = claim.status;
    const isFreed = reason === 'configuration' || (reason === 'budget' && hasBudget(draft.state, issueId, config));
    if (isFreed) unpark(draft, claim, reason, 'poll', now);
  }
}

/** The settings by which adapters decide about trust when they read. */
function isSameTrust({ tracker: before }: Config, { tracker: after }: Config): boolean {
  const rule = ({ trust, requiredLabels }: Config['tracker']) => JSON.stringify([trust, requiredLabels]);
  return rule(before) === rule(after);
}

export function shutdownRequested(draft: Draft, now: Instant): void {
  if (draft.state.shutdown !== null) {
    draft.note('warn', 'second signal: leaving at once');
    draft.set({ shutdown: { ...draft.state.shutdown, exited: true } });
    return draft.order({ type: 'exit', forced: true });
  }
  const deadlineAwakeMs = now.awakeMs + draft.state.config.runtime.shutdownTimeoutMs;
  draft.set({ shutdown: { deadlineAwakeMs, exited: false } });
  draft.note('info', 'shutting down: stopping runs', { fields: { runs: Object.keys(draft.state.runs).length } });
  for (const issueId of Object.values(draft.state.runs)) {
    markInShutdown(draft, issueId);
    requestStop(draft, issueId, 'shutdown', now);
  }
}

/** Not for a run that an earlier daemon left: that daemon has died. */
function markInShutdown(draft: Draft, issueId: string): void {
  const claim = draft.claim(issueId);
  if (claim?.status.kind !== 'running' || claim.live.run?.stage === 'left') return;
  draft.putClaim({ ...claim, status: { kind: 'running', run: { ...claim.status.run, isInShutdown: true } } });
}

/** Nothing starts from now on. Current runs go on with their settings. */
export function reopenRequested(draft: Draft, keys: readonly string[]): void {
  draft.set({ reopenFor: keys });
  if (keys.length === 0) return;
  const runs = Object.keys(draft.state.runs).length;
  draft.note('info', 'the settings change once no run is active, nothing starts until then', {
    fields: { keys, runs },
  });
}

/** Claims an issue that has not started, so that it can be parked before its first run. */
function claimCandidate(draft: Draft, issueId: string): Claim | undefined {
  if (!Object.hasOwn(draft.state.candidates, issueId)) return undefined;
  const issue = draft.state.candidates[issueId];
  if (!issue) return undefined;
  const status = {
    kind: 'waiting',
    sinceMs: 0,
    dueAtMs: 0,
    reason: 'first',
    cause: 'poll',
    attempt: null,
    error: null,
    baseline: null,
    foundIdle: false,
    resume: null,
  } as const;
  return {
    issue,
    failures: 0,
    idleRuns: 0,
    failedAsProbe: false,
    daemonDeaths: 0,
    status,
    live: { issueSeq: draft.state.candidatesSeq, refusals: 0, run: null },
  };
}
