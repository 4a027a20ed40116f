import { hasBudget } from '../../orchestrator/eligibility.js';
import type { State } from '../../orchestrator/state.js';
import type { Claim, LiveRun, Parked, Running } from '../domain/claim.js';
import type { Instant } from '../domain/clock.js';
import type { OrchestratorEvent } from '../domain/events.js';
import { type Issue, includesState, standingOf } from '../domain/issue.js';
import { assertNever } from '../domain/json.js';
import { nearestWord } from '../domain/nearest-word.js';
import { cancelled } from '../domain/outcome.js';
import type { StopReason } from '../domain/run.js';
import type { Answer, Question } from '../domain/run-signal.js';
import { shellWord } from '../domain/shell-word.js';
import { isoTime } from '../text/format-time.js';
import { findFinishedIssue, findKnownIssue, knownIssues } from './issue-view.js';
import type { AnswerRequest } from './schemas.js';
import { failedRules } from './why-idle.js';

/** What a person asks for about one issue. */
export type Action =
  | { readonly kind: 'stop' }
  | { readonly kind: 'retry' }
  | { readonly kind: 'answer'; readonly request: AnswerRequest }
  | { readonly kind: 'message'; readonly text: string };

/**
 * Whether what a person asks for makes sense at this moment. An event that it gives does something: `decide` changes the state or
 * orders an effect. Whatever would come to nothing is refused, with the reason and what would help.
 */
export function decideAction(state: State, name: string, action: Action): ActionResult {
  const found = findKnownIssue(state, name);
  if (found === null) return refuseUnknown(state, name);
  const { issue, claim } = found;
  switch (action.kind) {
    case 'stop':
      return claim ? stopClaim(claim) : stopCandidate(state, issue);
    case 'retry':
      return claim ? retryClaim(claim) : retryCandidate(state, issue);
    case 'answer':
      return decideAnswer(issue, claim, action.request);
    case 'message':
      return sendMessage(issue, claim, action.text);
    default:
      return assertNever(action);
  }
}

/** `POST /api/v1/refresh`, apart from when it was asked. */
export function refreshAnswer(
  { poll }: State,
  now: Instant,
): { readonly queued: true; readonly coalesced: boolean; readonly operations: string[] } {
  const coalesced = poll.inFlightSeq !== null || poll.nextAtMs <= now.wallMs;
  return { queued: true, coalesced, operations: ['poll', 'reconcile'] };
}

function stopClaim({ issue, status, live }: Claim): ActionResult {
  const { id, identifier } = issue;
  const stop = { type: 'stop_requested', issueId: id } as const;
  const then = untilFreed(issue);
  switch (status.kind) {
    case 'running':
      if (live.run?.stop === 'operator') return refuse('already_stopped', `${identifier} is being stopped already.`);
      // A person's word weighs more than any other reason.
      if (live.run?.stop === 'terminal') return beingStopped(issue, 'terminal', 'There is nothing left to stop.');
      return accept(stop, `The run of ${identifier} is being stopped; then it is parked ${then}.`);
    case 'waiting':
      return accept(stop, `${identifier} is parked ${then}.`);
    case 'parked':
      if (status.run !== null) return outlived(issue, status.run.number);
      if (status.reason === 'stopped_by_operator')
        return refuse('already_stopped', `${identifier} is stopped already, since ${isoTime(status.sinceMs)}.`);
      return accept(stop, `${identifier} was parked as ${status.reason}; now it is stopped ${then}.`);
    default:
      return assertNever(status);
  }
}

function untilFreed(issue: Issue): string {
  return `until ${commandOn('retry', issue)} or a change of the issue`;
}

/** One that is not ours to work on would be let go again at the next poll. */
function stopCandidate(state: State, issue: Issue): ActionResult {
  const { id, identifier } = issue;
  if (standingOf(issue, state.config.tracker) !== 'active')
    return refuse('not_running', `${identifier} does not run, and is not started: ${whyNot(state, issue)}.`);
  return accept({ type: 'stop_requested', issueId: id }, `${identifier} is not started ${untilFreed(issue)}.`);
}

function retryClaim(claim: Claim): ActionResult {
  const { issue, status } = claim;
  const { id, identifier } = issue;
  const retry = { type: 'retry_requested', issueId: id } as const;
  switch (status.kind) {
    case 'running':
      return retryRunning(issue, status, claim.live.run);
    case 'waiting':
      return accept(retry, `${identifier} is due now, with a new budget. ${seeWhen(issue)}`);
    case 'parked':
      if (status.run !== null) return outlived(issue, status.run.number);
      return accept(
        retry,
        `${identifier} is due now, with a clean slate and a new budget${dropped(status)}. ${seeWhen(issue)}`,
      );
    default:
      return assertNever(status);
  }
}

/** After such an end its claim is given up: there is nothing to go on with. */
const MOVED: readonly StopReason[] = ['terminal', 'inactive', 'unroutable', 'gone'];

function retryRunning(issue: Issue, { run }: Running, live: LiveRun | null): ActionResult {
  const { id, identifier } = issue;
  const stop = live?.stop ?? null;
  if (stop === null) {
    const isAsking = run.questions.length > 0;
    const help = isAsking ? `It waits for an answer: ${commandOn('answer', issue)}.` : 'To begin anew, stop it first.';
    return refuse('already_running', `${identifier} is running already (run ${run.number}). ${help}`);
  }
  if (MOVED.includes(stop)) return beingStopped(issue, stop, 'It starts again when the issue is active again.');
  if (run.wish === 'retry') return beingStopped(issue, stop, 'It starts again after that, as was asked for already.');
  const message = `The run of ${identifier} is being ended; it starts again as soon as its processes are gone.`;
  return accept({ type: 'retry_requested', issueId: id }, message);
}

/** It has no run to repeat. What a retry can do for it: a new budget, and a try that does not wait for the end of a hold. */
function retryCandidate(state: State, issue: Issue): ActionResult {
  const { id, identifier } = issue;
  const retry = { type: 'retry_requested', issueId: id } as const;
  const others = failedRules(issue, state).filter(({ rule }) => rule !== 'budget_left');
  const still =
    others.length === 0 ? seeWhen(issue) : `It still does not start: ${others.map(({ why }) => why).join('; ')}.`;
  if (!hasBudget(state, id, state.config)) return accept(retry, `${identifier} has a new budget. ${still}`);
  if (others.length > 0)
    return refuse('not_claimed', `${identifier} has no run to repeat. It does not start: ${whyNot(state, issue)}.`);
  if (state.holds.agent ?? state.holds.workflow) return accept(retry, `A run is tried at once. ${seeWhen(issue)}`);
  return refuse('not_claimed', `${identifier} has no run to repeat, and is in line already. ${seeWhen(issue)}`);
}

function sendMessage(issue: Issue, claim: Claim | null, text: string): ActionResult {
  const { id, identifier } = issue;
  const live = claim?.status.kind === 'running' ? claim.live.run : null;
  if (!live) return refuse('not_running', `${identifier} has no run that could be told anything. ${WRITE_IT}`);
  if (live.stop !== null) return beingStopped(issue, live.stop, WRITE_IT);
  if (live.stage !== 'started')
    return refuse('not_running', `The run of ${identifier} is about to begin. Say it again in a moment.`);
  // With steps there may be another agent to come.
  if (live.phase === 'finishing' && live.step === null)
    return refuse('not_running', `The agent of ${identifier} is done; only hooks are at work. ${WRITE_IT}`);
  const when = live.phase === 'agent' ? 'is told' : 'gets it with its first prompt';
  return accept({ type: 'message_given', issueId: id, text }, `The agent of ${identifier} ${when}.`);
}

const WRITE_IT = 'Write it into the issue, and the next run reads it.';

function beingStopped({ identifier }: Issue, reason: StopReason, help: string): ActionRefusal {
  return refuse(
    'being_stopped',
    `The run of ${identifier} is being ended: ${cancelled(reason).error.message}. ${help}`,
  );
}

function outlived({ identifier }: Issue, number: number): ActionRefusal {
  const message = `Processes of run ${number} of ${identifier} outlive SIGKILL. Once they are gone, it can be retried.`;
  return refuse('being_stopped', message);
}

function dropped({ question }: Parked): string {
  return question === null ? '' : '; what its agent asked is dropped';
}

function seeWhen(issue: Issue): string {
  return `${commandOn('explain', issue)} tells what it waits for.`;
}

function whyNot(state: State, issue: Issue): string {
  return failedRules(issue, state)
    .map(({ why }) => why)
    .join('; ');
}

/** An answer of a person: to which question, and does it fit? */
function decideAnswer(issue: Issue, claim: Claim | null, request: AnswerRequest): ActionResult {
  const { id, identifier } = issue;
  const open = openQuestions(claim);
  if (open.length === 0) return refuse('nothing_to_answer', `Nothing is asked about ${identifier}.`);
  if (claim?.status.kind === 'running' && claim.live.run?.stop != null)
    return refuse(
      'being_stopped',
      `The run of ${identifier} is being ended. What it asks can be answered once it is parked.`,
    );
  const question = questionOf(request, open, identifier);
  if ('code' in question) return question;
  const answer = answerOf(request, question);
  if ('code' in answer) return answer;
  const event = { type: 'answer_given', issueId: id, questionId: question.id, answer } as const;
  return accept(event, tell(identifier, claim, open.length - 1));
}

/** What can be answered, the oldest first. */
function openQuestions(claim: Claim | null): readonly Question[] {
  if (claim === null || claim.status.kind === 'waiting') return [];
  if (claim.status.kind === 'running') return claim.status.run.questions;
  // Of processes that cannot be ended nothing can go on.
  return claim.status.question === null || claim.status.run !== null ? [] : [claim.status.question];
}

function questionOf(
  { question_id: wanted }: AnswerRequest,
  open: readonly Question[],
  identifier: string,
): Question | ActionRefusal {
  const [first, ...others] = open;
  const ids = open.map(({ id }) => id).join(', ');
  if (wanted === undefined && first && others.length === 0) return first;
  if (wanted === undefined)
    return refuse('question_ambiguous', `${open.length} questions are open about ${identifier}. Name one: ${ids}.`);
  const named = open.find(({ id }) => id === wanted);
  return named ?? refuse('question_unknown', `No question ${wanted} is open about ${identifier}. Open: ${ids}.`);
}

function answerOf(request: AnswerRequest, question: Question): Answer | ActionRefusal {
  if ('decision' in request) {
    // To decline is always possible: the agent goes on without.
    if (request.decision === 'decline' || question.kind === 'approval') return { kind: request.decision };
    return unusable(`This question wants words, not a yes: ${fieldsOf(question)}. It can be declined, too.`);
  }
  if (question.kind === 'approval') return unusable('This question wants a decision: accept or decline.');
  const { values } = request;
  const unknown = Object.keys(values).filter((id) => !question.fields.some((field) => field.id === id));
  if (unknown.length > 0) return unusable(`There is no field ${unknown.join(', ')}. There is: ${fieldsOf(question)}.`);
  // To say nothing is to decline, and that is said as such.
  const missing = question.fields.filter(({ id }) => !Object.hasOwn(values, id) || values[id]?.trim() === '');
  if (missing.length > 0)
    return unusable(`Not answered: ${missing.map(({ id }) => id).join(', ')}. Give each a value, or decline.`);
  return { kind: 'input', values: Object.fromEntries(question.fields.map(({ id }) => [id, values[id] ?? ''])) };
}

function unusable(message: string): ActionRefusal {
  return { status: 400, code: 'INVALID_REQUEST', message };
}

function fieldsOf({ fields }: Question): string {
  if (fields.length === 0) return 'it has no fields, so send none';
  return fields.map(({ id, label }) => (label === '' || label === id ? id : `${id} (${label})`)).join(', ');
}

function tell(identifier: string, claim: Claim | null, others: number): string {
  if (claim?.status.kind === 'parked')
    return claim.status.threadId === null
      ? `${identifier} is due now. Its thread is not known, so it begins anew.`
      : `${identifier} goes on with your answer, on the same thread.`;
  const more = others === 0 ? '' : others === 1 ? ' One more question is open.' : ` ${others} more questions are open.`;
  return `The agent of ${identifier} has your answer.${more}`;
}

/** About an issue that is neither claimed nor a candidate nothing can be asked for: it has left, or was never there. */
function refuseUnknown(state: State, name: string): ActionRefusal {
  const done = findFinishedIssue(state, name);
  if (done) {
    const since = `${done.identifier} is "${done.state}" since ${isoTime(done.atMs)}, and not worked on any more`;
    return refuse('not_active', `${since}. Move it to ${openStates(state)} in the tracker, and it is.`);
  }
  const near = nearestWord(
    name,
    knownIssues(state).map(({ issue }) => issue.identifier),
  );
  const meant = near === null ? '' : ` Did you mean ${near}?`;
  const message = `No issue ${name} is claimed or among the candidates of the last poll.${meant}`;
  return { status: 404, code: 'issue_not_found', message };
}

function openStates({ config }: State): string {
  const { activeStates, terminalStates } = config.tracker;
  const open = activeStates.filter((one) => !includesState(terminalStates, one));
  return open.map((one) => `"${one}"`).join(' or ');
}

/** What comes of a request of a person: an event for the core, or the reason why there is none. `message`: sentences for them. */
type ActionResult = { readonly event: OrchestratorEvent; readonly message: string } | ActionRefusal;

interface ActionRefusal {
  readonly status: 400 | 404 | 409;
  readonly code: string;
  readonly message: string;
}

function accept(event: OrchestratorEvent, message: string): ActionResult {
  return { event, message };
}

/** It is not the time for it. */
function refuse(code: string, message: string): ActionRefusal {
  return { status: 409, code, message };
}

/** As a person types it. */
function commandOn(name: 'answer' | 'explain' | 'retry', { identifier }: Issue): string {
  return `\`baton ${name} ${shellWord(identifier)}\``;
}
