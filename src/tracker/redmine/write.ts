import { BatonError, toBatonError } from '../../domain/errors.js';
import { stateKey } from '../../domain/issue.js';
import { type Fields, fieldsOf, listOf, textOf } from '../../domain/json.js';
import type { IssueChange, IssueUpdate } from '../../domain/ports.js';
import { reasonIn } from '../http/limits.js';
import type { HttpReading } from '../http/tracker-http.js';
import { type BoardFacts, identifierOf, issueNumberOf, type Status, statusNamed, unreadable } from './api.js';
import { issuesByNumber, notesIn, readWhole, type Scope } from './read.js';

export interface ChangeOptions {
  readonly reading: HttpReading;
  readonly scope: Scope;
  readonly facts: BoardFacts;
  mask(text: string): string;
}

/**
 * Comment and move in one request, so that there is never one without the other where Redmine says no. It says yes, though, to much that it
 * then does not do: a move that the workflow does not allow, a note for which the role has no right. So the issue is read again.
 */
export async function changeIssue(issueId: string, change: IssueChange, options: ChangeOptions): Promise<IssueUpdate> {
  const { reading, facts } = options;
  const number = issueNumberOf(issueId);
  if (number === null) throw refused(`"${issueId}" is no issue of Redmine.`);
  const status = change.state === undefined ? null : await statusFor(change.state, options);
  const before = await currentState(number, options);
  const moves = status !== null && stateKey(status.name) !== stateKey(before);
  if (!moves && change.comment === undefined) return { state: before };
  const { me } = await facts.fresh(reading);
  const lastNote = change.comment === undefined ? 0 : await lastNoteOn(number, reading);

  await put(number, { ...(moves ? { status_id: status.id } : {}), ...noteOf(change) }, options);

  const look = await lookAgain(number, async () => {
    const issue = await readWhole(reading, number, 'journals,allowed_statuses');
    return { issue, notes: change.comment === undefined ? [] : notesIn(issue) };
  });
  if ('doubt' in look) return { state: status?.name ?? before, doubt: look.doubt };
  const { issue: after, notes } = look.found;
  const isSaid = change.comment === undefined || notes.some(({ id, person }) => id > lastNote && person.id === me.id);
  const state = textOf(fieldsOf(after.status).name) ?? before;
  const isMoved = !moves || stateKey(state) === stateKey(status.name);
  if (isMoved && isSaid) return { state };
  const problems = [
    ...(isMoved ? [] : [notMoved(number, state, status?.name ?? '', after)]),
    ...(isSaid ? [] : [`Redmine kept no comment on ${identifierOf(number)}: ${me.login} lacks the right "Add notes".`]),
    ...(isMoved && moves ? [`The issue is in "${state}" now.`] : []),
    ...(isSaid && change.comment !== undefined ? ['The comment was added.'] : []),
  ];
  throw refused(problems.join(' '));
}

async function statusFor(state: string, { facts, reading }: ChangeOptions): Promise<Status> {
  const known = await facts.knowing([state], reading);
  const status = statusNamed(known, state);
  if (status !== null) return status;
  const names = known.statuses.map(({ name }) => name).join(', ');
  throw refused(`"${state}" is no status of this Redmine. Use one of: ${names}.`);
}

/** Of an issue that is still in the project. */
async function currentState(number: number, { reading, scope, facts }: ChangeOptions): Promise<string> {
  const record = (await issuesByNumber(reading, scope, [number])).get(number);
  const state = textOf(fieldsOf(record?.status).name);
  if (state !== null) return state;
  if (record !== undefined) throw unreadable('/issues.json', `with ${identifierOf(number)}, which has no status`);
  await facts.verifyKey(reading);
  throw refused(`${identifierOf(number)} is not in the project "${scope.project}" (any more), or we may not see it.`);
}

async function lastNoteOn(number: number, reading: HttpReading): Promise<number> {
  return notesIn(await readWhole(reading, number, 'journals')).at(-1)?.id ?? 0;
}

function noteOf({ comment }: IssueChange): { readonly notes?: string } {
  return comment === undefined ? {} : { notes: comment };
}

async function put(number: number, issue: object, { reading, mask }: ChangeOptions): Promise<void> {
  const path = `/issues/${number}.json`;
  const { status, body } = await reading.ask({ method: 'PUT', path, body: { issue }, accept: [404, 409, 422] });
  if (status < 400) return;
  const said = body === null ? '' : reasonIn(JSON.stringify(body), mask);
  const reason = said === '' ? `it answered ${status}` : said;
  throw refused(`Redmine changed nothing on ${identifierOf(number)}: ${reason}.`);
}

export type SecondLook<Found> = { readonly found: Found } | { readonly doubt: string };

/**
 * A change is made though nobody can look at it afterwards: then there is a sentence that says so. A limit is thrown all the same, with that sentence in
 * it, since the run is to wait for its end.
 */
export async function lookAgain<Found>(number: number, look: () => Promise<Found>): Promise<SecondLook<Found>> {
  try {
    return { found: await look() };
  } catch (error) {
    const { code, message, details } = toBatonError(error);
    const told = `Redmine took the change of ${identifierOf(number)}, do not repeat it; but the issue could not be read again, so it is not known whether all of it was done. ${message}`;
    if (code === 'tracker_rate_limited') throw new BatonError(code, told, details, { cause: error });
    return { doubt: told };
  }
}

/** Why an issue is still in `state`, as far as it can be told, and where it may go. `allowed_statuses` is there from Redmine 5.0 on. */
export function notMoved(number: number, state: string, wanted: string, { allowed_statuses: allowed }: Fields): string {
  const others = listOf(allowed)
    .flatMap((status) => textOf(fieldsOf(status).name) ?? [])
    .filter((name) => stateKey(name) !== stateKey(state));
  const advice = others.length === 0 ? '' : ` From there it may go to: ${others.join(', ')}.`;
  const why = 'the workflow does not allow it to this account, or the issue is blocked or has open subtasks';
  return `Redmine left ${identifierOf(number)} in "${state}" and did not move it to "${wanted}": ${why}.${advice}`;
}

function refused(message: string): BatonError {
  return new BatonError('tracker_refused', message);
}
