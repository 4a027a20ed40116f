import type { Instant } from '../src/domain/clock.js';
import type { Effect } from '../src/domain/effects.js';
import type { OrchestratorEvent } from '../src/domain/events.js';
import { assertNever } from '../src/domain/json.js';
import type { RemovalReport } from '../src/domain/ports.js';
import { applyDeadlines } from './deadlines.js';
import { dispatchReady } from './dispatch.js';
import { Draft } from './draft.js';
import { applyObservation, applyRead, type FreshIssues, NOTHING_FRESH } from './observe.js';
import { beginOnce, finishOnce, observeOnce, recordOnceResult } from './once.js';
import { confirmPersist, failPersist, orderPersist } from './persist.js';
import { applyRateLimit, pollIfDue } from './poll.js';
import * as requests from './requests.js';
import { closeInterruptedRuns } from './restore.js';
import { endRun } from './run-end.js';
import { applySignal, type CoreSignal, parkUnkillable } from './run-signals.js';
import { runOf, type State } from './state.js';

export interface Decision {
  readonly state: State;
  readonly effects: readonly Effect[];
}

/**
 * Decides what to do about one event. Pure: the same arguments give the same result, and the input state is not modified. After each
 * event, everything that is due happens here (deadlines, poll, free slots) and changes are ordered to be stored, so handlers need
 * not care.
 */
export function decide(state: State, event: OrchestratorEvent, now: Instant): Decision {
  const draft = new Draft(state);
  const fresh = handle(draft, event, now);
  if (event.type === 'observed') observeOnce(draft, event.observation.seq, now);
  // A run that lifts a hold as a probe lets others start.
  if (draft.state.shutdown === null && (!isSignal(event) || draft.state.holds !== state.holds)) {
    applyDeadlines(draft, now);
    pollIfDue(draft, now);
    dispatchReady(draft, now, fresh);
    finishOnce(draft, now);
  }
  orderPersist(draft, state, canWait(event, state, draft.state), now);
  exitWhenDone(draft, now);
  reopenWhenDone(draft, now);
  return { state: draft.state, effects: draft.effects };
}

/**
 * Signals of active runs free no slot and arrive thousands of times per second, so they do not trigger the checks for what is due. The
 * timer set for those checks must stay.
 */
export function isSignal(event: OrchestratorEvent): boolean {
  return event.type === 'run_signalled';
}

/** The signals whose changes must be stored at once: an answer and a thread cost a person or a run much to lose, tokens do not. */
const URGENT: readonly CoreSignal['type'][] = ['session', 'asked', 'question_closed'];

function canWait(event: OrchestratorEvent, before: State, after: State): boolean {
  if (event.type !== 'run_signalled' || before.runs !== after.runs || before.holds !== after.holds) return false;
  return !URGENT.includes(event.signal.type);
}

function handle(draft: Draft, event: OrchestratorEvent, now: Instant): FreshIssues {
  switch (event.type) {
    case 'observed':
      return applyObservation(draft, event.observation, now);
    case 'issues_read':
      return applyRead(draft, event, now);
    default:
      handleOther(draft, event, now);
      return NOTHING_FRESH;
  }
}

type PlainEvent = Exclude<OrchestratorEvent, { type: 'observed' | 'issues_read' }>;

function handleOther(draft: Draft, event: PlainEvent, now: Instant): void {
  switch (event.type) {
    case 'started':
      return startUp(draft, event, now);
    case 'config_changed':
      return requests.configChanged(draft, event.config, event.workflowHash, now);
    case 'ticked':
      return;
    case 'clock_set_back':
      return shiftDueTimes(draft, event.byMs);
    case 'persisted':
      return confirmPersist(draft, event.seq);
    case 'persist_failed':
      return failPersist(draft, event.seq, event.message, now);
    case 'run_signalled':
      return applySignal(draft, event.runId, event.signal, now);
    case 'run_unkillable':
      return parkUnkillable(draft, event.runId, now);
    case 'run_exited': {
      const claim = draft.claim(draft.state.runs[event.runId] ?? '');
      const run = claim && runOf(claim);
      if (claim && run) {
        recordOnceResult(draft, claim, run, event.outcome);
        endRun(draft, claim, run, event.outcome, now);
      }
      if (run?.requestedAfterExit === 'retry') requests.retryNow(draft, claim?.issue.id ?? '', now);
      return;
    }
    case 'workspace_removed':
      return finishRemoval(draft, event.issueId, event.report, now);
    case 'refresh_requested':
      return requests.refreshRequested(draft, now);
    case 'change_announced':
      return requests.changeAnnounced(draft, now);
    case 'stop_requested':
      return requests.stopRequested(draft, event.issueId, now);
    case 'retry_requested':
      return requests.retryRequested(draft, event.issueId, now);
    case 'answer_given':
      return requests.answerGiven(draft, event.issueId, event.questionId, event.answer, now);
    case 'message_given':
      return requests.messageGiven(draft, event.issueId, event.text);
    case 'pause_requested':
      return requests.pauseRequested(draft, now);
    case 'resume_requested':
      return requests.resumeRequested(draft);
    case 'reopen_requested':
      return requests.reopenRequested(draft, event.keys);
    case 'shutdown_requested':
      return requests.shutdownRequested(draft, now);
    default:
      return assertNever(event);
  }
}

function startUp(draft: Draft, event: Extract<PlainEvent, { type: 'started' }>, now: Instant): void {
  draft.replace('leftovers', Object.fromEntries(event.leftovers.map((one) => [one.issueId, { notBeforeMs: 0 }])));
  closeInterruptedRuns(draft);
  if (event.limitedUntilMs !== undefined) {
    applyRateLimit(draft, event.limitedUntilMs, now);
    const resetsInS = Math.ceil((event.limitedUntilMs - now.wallMs) / 1000);
    draft.note('warn', 'tracker limits our requests, waiting for the reset', { fields: { resets_in_s: resetsInS } });
  }
  if (event.once) beginOnce(draft, event.once.only, now);
}

/** The cause (a full disk, a folder in use) may pass, so a failed removal is repeated. */
const REMOVAL_RETRY_MS = 3_600_000;

function finishRemoval(draft: Draft, issueId: string, report: RemovalReport, now: Instant): void {
  const identifier = draft.state.removals[issueId];
  if (identifier === undefined) return;
  draft.drop('removals', issueId);
  if (report.ok) return draft.note('info', 'workspace removed', { issueId, identifier });
  draft.put('leftovers', issueId, { notBeforeMs: now.wallMs + REMOVAL_RETRY_MS });
  draft.note('warn', 'workspace could not be removed, trying again in an hour', {
    issueId,
    identifier,
    fields: { detail: report.message },
  });
}

/** The wall clock was set back. Due times move with it; otherwise a ten-second wait could take an hour. */
function shiftDueTimes(draft: Draft, byMs: number): void {
  const { poll, holds, claims, leftovers } = draft.state;
  const lastOkAtMs = poll.lastOkAtMs === null ? null : poll.lastOkAtMs - byMs;
  // At worst this asks the tracker once too early. Without it, a limit of a minute could last for hours.
  const rateLimit = poll.rateLimit && { ...poll.rateLimit, resetAtMs: poll.rateLimit.resetAtMs - byMs };
  draft.set({ poll: { ...poll, nextAtMs: poll.nextAtMs - byMs, lastOkAtMs, rateLimit } });
  for (const [id, { notBeforeMs }] of Object.entries(leftovers))
    draft.put('leftovers', id, { notBeforeMs: notBeforeMs - byMs });
  for (const source of ['agent', 'workflow', 'store'] as const) {
    const hold = holds[source];
    if (hold?.untilMs) draft.putHold(source, { ...hold, untilMs: hold.untilMs - byMs });
  }
  for (const claim of Object.values(claims)) {
    if (claim.status.kind !== 'waiting') continue;
    const { status } = claim;
    draft.putClaim({ ...claim, status: { ...status, dueAtMs: status.dueAtMs - byMs, sinceMs: status.sinceMs - byMs } });
  }
}

/** Exits when no run is active, no workspace is being removed and everything is stored, or when the shutdown time is over. */
function exitWhenDone(draft: Draft, now: Instant): void {
  const { shutdown } = draft.state;
  if (shutdown === null || shutdown.exited) return;
  const isDone = isAtRest(draft.state);
  const isLate = now.awakeMs >= shutdown.deadlineAwakeMs;
  if (!isDone && !isLate) return;
  draft.set({ shutdown: { ...shutdown, exited: true } });
  draft.order({ type: 'exit', forced: !isDone });
}

/** The state of this opening ends here: nothing that happens afterwards changes it or starts anything. */
function reopenWhenDone(draft: Draft, now: Instant): void {
  const { reopenFor, shutdown } = draft.state;
  if (reopenFor.length === 0 || shutdown !== null || !isAtRest(draft.state)) return;
  draft.set({ shutdown: { deadlineAwakeMs: now.awakeMs, exited: true } });
  draft.order({ type: 'reopen' });
}

function isAtRest({ runs, removals, persist }: State): boolean {
  const isStored = persist.settledSeq >= persist.orderedSeq;
  return Object.keys(runs).length === 0 && Object.keys(removals).length === 0 && isStored;
}
