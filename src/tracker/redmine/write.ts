import { BatonError, toBatonError } from '../../domain/errors.js';
import { stateKey } from '../../domain/issue.js';
import { type Fields, fieldsOf, listOf, textOf } from '../../domain/json.js';
import type { IssueChange, IssueUpdate } from '../../domain/ports.js';
import { reasonIn } from '../http/limits.js';
import type { HttpReading } from '../http/tracker-http.js';
import { identifierOf, invalidAnswer, issueNumberOf } from './api.js';
import { type FactsCache, type Status, statusNamed } from './facts.js';
import { notesIn, readByNumber, readIssue } from './read.js';
import type { Scope } from './settings.js';

interface ChangeOptions {
  readonly reading: HttpReading;
  readonly scope: Scope;
  readonly facts: FactsCache;
  mask(text: string): string;
}

/**
 * Comments on an issue and moves it in one request, so that a rejected request changes nothing. Redmine also accepts requests
 * that it then carries out only in part, for example a move that the workflow does not allow. So the issue is read again.
 */
export async function changeIssue(issueId: string, change: IssueChange, options: ChangeOptions): Promise<IssueUpdate> {
  const { reading, facts } = options;
  const { state: wanted, comment } = change;
  const number = issueNumberOf(issueId);
  if (number === null) throw refusal(`"${issueId}" is not an issue of Redmine.`);
  const status = wanted === undefined ? null : await readStatus(wanted, options);
  const before = await readState(number, options);
  const isMove = status !== null && stateKey(status.name) !== stateKey(before);
  if (!isMove && comment === undefined) return { state: before };
  const { account } = await facts.read(reading);
  const lastNoteId =
    comment === undefined ? 0 : (notesIn(await readIssue(reading, number, 'journals')).at(-1)?.id ?? 0);

  const fields = { ...(isMove ? { status_id: status.id } : {}), ...(comment === undefined ? {} : { notes: comment }) };
  await putIssue(number, fields, options);

  const result = await readAfterChange(number, async () => {
    const issue = await readIssue(reading, number, 'journals,allowed_statuses');
    return { issue, notes: comment === undefined ? [] : notesIn(issue) };
  });
  if ('doubt' in result) return { state: status?.name ?? before, doubt: result.doubt };
  const { issue, notes } = result.read;
  const isCommented =
    comment === undefined || notes.some(({ id, person }) => id > lastNoteId && person.id === account.id);
  const state = textOf(fieldsOf(issue.status).name) ?? before;
  const isMoved = !isMove || stateKey(state) === stateKey(status.name);
  if (isMoved && isCommented) return { state };
  const problems = [
    ...(isMoved ? [] : [notMovedReason(number, state, status?.name ?? '', issue)]),
    ...(isCommented
      ? []
      : [`Redmine kept no comment on ${identifierOf(number)}: ${account.login} lacks the right "Add notes".`]),
    ...(isMoved && isMove ? [`The issue is in "${state}" now.`] : []),
    ...(isCommented && comment !== undefined ? ['The comment was added.'] : []),
  ];
  throw refusal(problems.join(' '));
}

async function readStatus(state: string, { facts, reading }: ChangeOptions): Promise<Status> {
  const known = await facts.read(reading, [state]);
  const status = statusNamed(known, state);
  if (status !== null) return status;
  const names = known.statuses.map(({ name }) => name).join(', ');
  throw refusal(`"${state}" is not a status of this Redmine. Use one of: ${names}.`);
}

/** Throws `tracker_refused` for an issue outside the project. */
async function readState(number: number, { reading, scope, facts }: ChangeOptions): Promise<string> {
  const record = (await readByNumber(reading, scope, [number])).get(number);
  const state = textOf(fieldsOf(record?.status).name);
  if (state !== null) return state;
  if (record !== undefined) throw invalidAnswer('/issues.json', `with ${identifierOf(number)}, which has no status`);
  await facts.verifyKey(reading);
  throw refusal(`${identifierOf(number)} is not in the project "${scope.project}", or the account may not see it.`);
}

async function putIssue(number: number, issue: object, { reading, mask }: ChangeOptions): Promise<void> {
  const path = `/issues/${number}.json`;
  const { status, body } = await reading.ask({ method: 'PUT', path, body: { issue }, accept: [404, 409, 422] });
  if (status < 400) return;
  const given = body === null ? '' : reasonIn(JSON.stringify(body), mask);
  const reason = given === '' ? `it answered ${status}` : given;
  throw refusal(`Redmine changed nothing on ${identifierOf(number)}: ${reason}.`);
}

/**
 * Reads an issue after a change that Redmine accepted. A failed read is not an error, because the change must not be repeated:
 * it becomes a `doubt`. Only a rate limit is thrown, with that text, because the run then waits.
 */
export async function readAfterChange<Result>(
  number: number,
  read: () => Promise<Result>,
): Promise<{ readonly read: Result } | { readonly doubt: string }> {
  try {
    return { read: await read() };
  } catch (error) {
    const { code, message, details } = toBatonError(error);
    const doubt = `Redmine accepted the change of ${identifierOf(number)}, do not repeat it; but the issue could not be read again, so parts of the change may be missing. ${message}`;
    if (code === 'tracker_rate_limited') throw new BatonError(code, doubt, details, { cause: error });
    return { doubt };
  }
}

/** Why an issue is still in `state`, and where it may go. Redmine sends `allowed_statuses` since version 5.0. */
export function notMovedReason(
  number: number,
  state: string,
  wanted: string,
  { allowed_statuses: allowed }: Fields,
): string {
  const others = listOf(allowed)
    .flatMap((status) => textOf(fieldsOf(status).name) ?? [])
    .filter((name) => stateKey(name) !== stateKey(state));
  const advice = others.length === 0 ? '' : ` From there it may go to: ${others.join(', ')}.`;
  const reason = 'the workflow does not allow this to the account, or the issue is blocked or has open subtasks';
  return `Redmine left ${identifierOf(number)} in "${state}" and did not move it to "${wanted}": ${reason}.${advice}`;
}

function refusal(message: string): BatonError {
  return new BatonError('tracker_refused', message);
}
