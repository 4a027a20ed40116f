import type { Claim } from '../domain/claim.js';
import type { Issue } from '../domain/issue.js';
import type { Answer, Question } from '../domain/question.js';
import { type ActionRefusal, type ActionResult, accept, refuse } from './action-result.js';
import type { AnswerRequest } from './shapes/request-shapes.js';

/** An answer of a person: to which question, and does it fit? */
export function decideAnswer(issue: Issue, claim: Claim | null, request: AnswerRequest): ActionResult {
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
