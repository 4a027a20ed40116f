import { openStates } from '../../orchestrator/eligibility.js';
import { type IssueRequest, judgeRequest } from '../../orchestrator/judge-request.js';
import type { State } from '../../orchestrator/state.js';
import type { Instant } from '../domain/clock.js';
import type { OrchestratorEvent } from '../domain/events.js';
import { nearestWord } from '../domain/nearest-word.js';
import type { Refusal } from '../domain/reasons.js';
import type { Answer, Question } from '../domain/run-signal.js';
import { isoTime } from '../text/format-time.js';
import { acceptanceText, refusalText } from '../text/requests.js';
import { findFinishedIssue, findKnownIssue, knownIssues } from './issue-view.js';
import type { AnswerRequest } from './schemas.js';

/** What a person asks for about one issue. */
export type Action =
  | { readonly kind: 'stop' }
  | { readonly kind: 'retry' }
  | { readonly kind: 'answer'; readonly request: AnswerRequest }
  | { readonly kind: 'message'; readonly text: string };

/** The event that carries out an action, or why there is none. `message` is for a person. */
export type ActionResult = { readonly event: OrchestratorEvent; readonly message: string } | ActionRefusal;

export interface ActionRefusal {
  readonly status: 400 | 404 | 409;
  readonly code: string;
  readonly message: string;
  readonly params: { readonly [name: string]: unknown };
}

/** Finds the issue, has the core judge the request, and turns it into an event. */
export function decideAction(state: State, name: string, action: Action): ActionResult {
  const known = findKnownIssue(state, name);
  if (known === null) return refuse(unknownIssue(state, name));
  const issueId = known.issue.id;
  const verdict = judgeRequest(state, issueId, requestOf(action));
  if (!verdict.isAccepted) return refuse(verdict);
  const message = acceptanceText(verdict);
  if (action.kind === 'message') return { event: { type: 'message_given', issueId, text: action.text }, message };
  if (action.kind !== 'answer') return { event: { type: EVENTS[action.kind], issueId }, message };
  if (verdict.question === null) throw new Error('an accepted answer has a question');
  const answer = parseAnswer(action.request, verdict.question);
  if ('code' in answer) return answer;
  return { event: { type: 'answer_given', issueId, questionId: verdict.question.id, answer }, message };
}

/** `POST /api/v1/refresh`, without the time of the request. */
export function refreshAnswer(
  { poll }: State,
  now: Instant,
): { readonly queued: true; readonly coalesced: boolean; readonly operations: string[] } {
  const coalesced = poll.inFlightSeq !== null || poll.nextAtMs <= now.wallMs;
  return { queued: true, coalesced, operations: ['poll', 'reconcile'] };
}

const EVENTS = { stop: 'stop_requested', retry: 'retry_requested' } as const;

function requestOf(action: Action): IssueRequest {
  return action.kind === 'answer'
    ? { kind: 'answer', questionId: action.request.question_id ?? null, isDecline: isDecline(action.request) }
    : { kind: action.kind };
}

function isDecline(request: AnswerRequest): boolean {
  return 'decision' in request && request.decision === 'decline';
}

/** The issue was finished, or there is none of that name. */
function unknownIssue(state: State, name: string): Refusal {
  const finished = findFinishedIssue(state, name);
  if (finished) {
    const { identifier, atMs } = finished;
    const params = { identifier, state: finished.state, since: isoTime(atMs), open_states: openStates(state.config) };
    return { code: 'not_active', params };
  }
  const identifiers = knownIssues(state).map(({ issue }) => issue.identifier);
  return { code: 'issue_not_found', params: { name, nearest: nearestWord(name, identifiers) } };
}

/** Some reasons share the code of the answer that clients know; `params.reason` distinguishes them. */
const SHARED_CODES: { readonly [reason in Refusal['code']]?: string } = {
  processes_outlive_kill: 'being_stopped',
  not_startable: 'not_running',
  nothing_to_retry: 'not_claimed',
  retry_needs_answer: 'not_active',
  no_run: 'not_running',
  not_started_yet: 'not_running',
  agent_finished: 'not_running',
};

function refuse(refusal: Refusal): ActionRefusal {
  const { code: reason, params } = refusal;
  return {
    status: reason === 'issue_not_found' ? 404 : 409,
    code: SHARED_CODES[reason] ?? reason,
    message: refusalText(refusal),
    params: { reason, ...params },
  };
}

/** An answer that does not fit its question is a bad request. */
function parseAnswer(request: AnswerRequest, question: Question): Answer | ActionRefusal {
  if ('decision' in request) {
    // Every question can be declined: the agent goes on without an answer.
    if (request.decision === 'decline' || question.kind === 'approval') return { kind: request.decision };
    return badRequest(
      `This question needs values, not a decision: ${describeFields(question)}. It can also be declined.`,
    );
  }
  if (question.kind === 'approval') return badRequest('This question needs a decision: accept or decline.');
  const { values } = request;
  const unknown = Object.keys(values).filter((id) => !question.fields.some((field) => field.id === id));
  if (unknown.length > 0)
    return badRequest(`There is no field ${unknown.join(', ')}. Fields: ${describeFields(question)}.`);
  // A person who does not want to answer declines explicitly.
  const missing = question.fields.filter(({ id }) => !Object.hasOwn(values, id) || values[id]?.trim() === '');
  if (missing.length > 0)
    return badRequest(`Not answered: ${missing.map(({ id }) => id).join(', ')}. Give each a value, or decline.`);
  return { kind: 'input', values: Object.fromEntries(question.fields.map(({ id }) => [id, values[id] ?? ''])) };
}

function badRequest(message: string): ActionRefusal {
  return { status: 400, code: 'INVALID_REQUEST', message, params: {} };
}

function describeFields({ fields }: Question): string {
  if (fields.length === 0) return 'it has no fields, so send none';
  return fields.map(({ id, label }) => (label === '' || label === id ? id : `${id} (${label})`)).join(', ');
}
