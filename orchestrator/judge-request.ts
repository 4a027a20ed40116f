import type { Claim, LiveRun, Parked, Running } from '../src/domain/claim.js';
import { type Issue, standingOf } from '../src/domain/issue.js';
import { assertNever } from '../src/domain/json.js';
import type { Acceptance, Refusal } from '../src/domain/reasons.js';
import type { StopReason } from '../src/domain/run.js';
import type { Question } from '../src/domain/run-signal.js';
import { failedRules, hasBudget } from './eligibility.js';
import { awaitsPush, hasMovedOn } from './held-push.js';
import type { State } from './state.js';

/** A person's request about one issue. `questionId: null` means the only open question. */
export type IssueRequest =
  | { readonly kind: 'stop' | 'retry' | 'message' }
  | { readonly kind: 'answer'; readonly questionId: string | null; readonly isDecline: boolean };

export type Verdict =
  /** `question`: the question that an answer belongs to. */
  | ({ readonly isAccepted: true; readonly question: Question | null } & Acceptance)
  | ({ readonly isAccepted: false } & Refusal);

/**
 * Whether a request makes sense at this moment. The API asks before it dispatches the event, and the core asks again when it handles it.
 * An accepted request changes the state or orders an effect; a request that would do nothing is refused with its reason.
 */
export function judgeRequest(state: State, issueId: string, request: IssueRequest): Verdict {
  const claim = Object.hasOwn(state.claims, issueId) ? state.claims[issueId] : undefined;
  const issue = claim?.issue ?? (Object.hasOwn(state.candidates, issueId) ? state.candidates[issueId] : undefined);
  if (!issue) return refuse({ code: 'issue_not_found', params: { name: issueId, nearest: null } });
  switch (request.kind) {
    case 'stop':
      return claim ? judgeStop(claim) : judgeStopOfCandidate(state, issue);
    case 'retry':
      return claim ? judgeRetry(state, claim) : judgeRetryOfCandidate(state, issue);
    case 'message':
      return judgeMessage(issue, claim);
    case 'answer':
      return judgeAnswer(issue, claim, request);
    default:
      return assertNever(request);
  }
}

function judgeStop({ issue, status, live }: Claim): Verdict {
  const { identifier } = issue;
  switch (status.kind) {
    case 'running':
      if (live.run?.stop === 'operator')
        return refuse({ code: 'already_stopped', params: { identifier, since_ms: null } });
      // A person outranks every other reason, but a run of a finished issue has nothing left to stop.
      if (live.run?.stop === 'terminal') return refuseStopping(issue, 'stop', 'terminal');
      return accept({ code: 'run_stops', params: { identifier } });
    case 'waiting':
      return accept({ code: 'stopped_waiting', params: { identifier } });
    case 'parked':
      if (status.run !== null) return refuseUnkillable(issue, status.run);
      if (status.reason === 'stopped_by_operator')
        return refuse({ code: 'already_stopped', params: { identifier, since_ms: status.sinceMs } });
      return accept({ code: 'stopped_parked', params: { identifier, reason: status.reason } });
    default:
      return assertNever(status);
  }
}

/** A claim on an issue that is not active would be released at the next poll. */
function judgeStopOfCandidate(state: State, issue: Issue): Verdict {
  const { identifier } = issue;
  return standingOf(issue, state.config.tracker) === 'active'
    ? accept({ code: 'not_to_be_started', params: { identifier } })
    : refuse({ code: 'not_startable', params: { identifier, failed: failedRules(issue, state) } });
}

function judgeRetry(state: State, claim: Claim): Verdict {
  const { issue, status, live } = claim;
  const { identifier } = issue;
  switch (status.kind) {
    case 'running':
      return judgeRetryOfRun(issue, status, live.run);
    case 'waiting':
      return accept({ code: 'due_now', params: { identifier, was_parked: false, drops_question: false } });
    case 'parked':
      if (status.run !== null) return refuseUnkillable(issue, status.run);
      if (awaitsPush(claim) && hasMovedOn(standingOf(issue, state.config.tracker)))
        return refuse({ code: 'retry_needs_answer', params: { identifier } });
      return accept({
        code: 'due_now',
        params: { identifier, was_parked: true, drops_question: status.question !== null },
      });
    default:
      return assertNever(status);
  }
}

/** A run that is stopped for one of these releases its claim: there is nothing to retry. */
const RELEASING: readonly StopReason[] = ['terminal', 'inactive', 'unroutable', 'gone'];

function judgeRetryOfRun(issue: Issue, { run }: Running, live: LiveRun | null): Verdict {
  const { identifier } = issue;
  const stop = live?.stop ?? null;
  if (stop === null)
    return refuse({
      code: 'already_running',
      params: { identifier, run_number: run.number, is_asking: run.questions.length > 0 },
    });
  const isPending = run.requestedAfterExit === 'retry';
  if (isPending || RELEASING.includes(stop)) return refuseStopping(issue, 'retry', stop, isPending);
  return accept({ code: 'retries_after_stop', params: { identifier } });
}

/** It has no run to repeat. A retry can grant a new budget, or a run that does not wait for the end of a hold. */
function judgeRetryOfCandidate(state: State, issue: Issue): Verdict {
  const { id, identifier } = issue;
  const all = failedRules(issue, state);
  const others = all.filter(({ rule }) => rule !== 'budget_left');
  if (!hasBudget(state, id, state.config))
    return accept({ code: 'new_budget', params: { identifier, failed: others } });
  if (others.length === 0 && (state.holds.agent ?? state.holds.workflow))
    return accept({ code: 'probes_hold', params: { identifier } });
  return refuse({ code: 'nothing_to_retry', params: { identifier, failed: all } });
}

function judgeMessage(issue: Issue, claim: Claim | undefined): Verdict {
  const { identifier } = issue;
  const live = claim?.status.kind === 'running' ? claim.live.run : null;
  if (!live) return refuse({ code: 'no_run', params: { identifier } });
  if (live.stop !== null) return refuseStopping(issue, 'message', live.stop);
  if (live.stage !== 'started') return refuse({ code: 'not_started_yet', params: { identifier } });
  // With steps, another agent may follow.
  if (live.phase === 'finishing' && live.step === null)
    return refuse({ code: 'agent_finished', params: { identifier } });
  return accept({ code: 'message_sent', params: { identifier, is_agent_running: live.phase === 'agent' } });
}

function judgeAnswer(
  issue: Issue,
  claim: Claim | undefined,
  { questionId, isDecline }: Extract<IssueRequest, { kind: 'answer' }>,
): Verdict {
  const { identifier } = issue;
  const open = openQuestions(claim);
  const ids = open.map(({ id }) => id);
  const [first] = open;
  if (!claim || first === undefined) return refuse({ code: 'nothing_to_answer', params: { identifier } });
  const stop = claim.status.kind === 'running' ? (claim.live.run?.stop ?? null) : null;
  if (stop !== null) return refuseStopping(issue, 'answer', stop);
  if (questionId === null && open.length > 1)
    return refuse({ code: 'question_ambiguous', params: { identifier, open: ids } });
  const question = questionId === null ? first : open.find(({ id }) => id === questionId);
  if (!question)
    return refuse({ code: 'question_unknown', params: { identifier, question_id: questionId ?? '', open: ids } });
  if (question.isCut && !isDecline)
    return refuse({ code: 'question_cut', params: { identifier, question_id: question.id } });
  const decided = isDecline ? 'declined' : 'accepted';
  const push = question.heldPush === undefined ? null : decided;
  return claim.status.kind === 'parked'
    ? accept({ code: 'resumes', params: { identifier, push, has_thread: claim.status.threadId !== null } }, question)
    : accept({ code: 'answered', params: { identifier, push, open: open.length - 1 } }, question);
}

/** The oldest first. */
function openQuestions(claim: Claim | undefined): readonly Question[] {
  if (claim === undefined || claim.status.kind === 'waiting') return [];
  if (claim.status.kind === 'running') return claim.status.run.questions;
  // While its processes cannot be killed, the issue cannot go on.
  return claim.status.question === null || claim.status.run !== null ? [] : [claim.status.question];
}

function refuseStopping(
  { identifier }: Issue,
  request: IssueRequest['kind'],
  stop: StopReason,
  isRetryPending = false,
): Verdict {
  return refuse({ code: 'being_stopped', params: { identifier, request, stop, is_retry_pending: isRetryPending } });
}

function refuseUnkillable({ identifier }: Issue, { number }: NonNullable<Parked['run']>): Verdict {
  return refuse({ code: 'processes_outlive_kill', params: { identifier, run_number: number } });
}

function accept(acceptance: Acceptance, question: Question | null = null): Verdict {
  return { isAccepted: true, question, ...acceptance };
}

function refuse(refusal: Refusal): Verdict {
  return { isAccepted: false, ...refusal };
}
