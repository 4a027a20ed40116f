import { BatonError } from '../../domain/errors.js';
import type { Blocker } from '../../domain/issue.js';
import { type Fields, fieldsOf, foundIn, listOf, textOf } from '../../domain/json.js';
import type { HttpReading } from '../http/tracker-http.js';
import type { RawIssue } from '../normalise-issue.js';
import { authorOf } from '../trust.js';
import { identifierOf, type Judge, numberIn, type Person, personIn, readList, unreadable } from './api.js';

/** What is looked at. */
export interface Scope {
  readonly project: string;
  readonly withSubprojects: boolean;
}

/** So many numbers fit into one question, and their issues into one page. */
const BATCH = 100;

/** Oldest first, so that what is new does not shift the pages before it. */
const ORDER = { sort: 'created_on:asc,id', include: 'relations' };

/** The issues of the project in these statuses. */
export function issuesInStatuses(
  reading: HttpReading,
  scope: Scope,
  statusIds: readonly number[],
): Promise<readonly Fields[]> {
  const filters = { ...inScope(scope), status_id: statusIds.join('|'), ...ORDER };
  return readIssues(reading, filters, scope);
}

/** By number, whatever their status; those that are there. `scope: null`: wherever the key can see. */
export async function issuesByNumber(
  reading: HttpReading,
  scope: Scope | null,
  numbers: readonly number[],
): Promise<ReadonlyMap<number, Fields>> {
  const found = new Map<number, Fields>();
  const wanted = [...new Set(numbers)].sort((a, b) => a - b);
  for (let at = 0; at < wanted.length; at += BATCH) {
    const batch = wanted.slice(at, at + BATCH);
    const asked = { issue_id: batch.join(','), status_id: '*', ...ORDER };
    const records = await readIssues(reading, { ...(scope ? inScope(scope) : {}), ...asked }, scope);
    for (const record of records) {
      const number = numberIn(record.id);
      if (number === null)
        throw new BatonError('tracker_response', 'Redmine answered with an issue that has no number.');
      if (batch.includes(number)) found.set(number, record);
    }
  }
  return found;
}

/**
 * Redmine itself leaves out what lies outside: nobody else knows all the subprojects. Where nothing is said of them, a setting of its
 * administrator decides.
 */
export function inScope({ project, withSubprojects }: Scope): {
  readonly project_id: string;
  readonly subproject_id: string;
} {
  return { project_id: project, subproject_id: withSubprojects ? '*' : '!*' };
}

async function readIssues(
  reading: HttpReading,
  filters: { readonly [name: string]: string },
  scope: Scope | null,
): Promise<readonly Fields[]> {
  try {
    return await readList(reading, { path: '/issues.json', key: 'issues', filters });
  } catch (error) {
    if (!(error instanceof BatonError) || error.details.status !== 404 || scope === null) throw error;
    const message = `Redmine knows no project "${scope.project}", or nothing of Redmine is at that address. Check tracker.provider.project and tracker.provider.endpoint.`;
    throw new BatonError('tracker_status', message, { status: 404 }, { cause: error });
  }
}

interface RecordContext {
  /** Where people look at it, without a slash at the end. */
  readonly site: string;
  /** Custom fields whose values are labels, in lower case; empty: all that take several values. */
  readonly labelFields: ReadonlySet<string>;
  readonly judge: Judge;
  /** Then whoever is not on it is told with the number to write there. */
  readonly isTrustAList: boolean;
  readonly blockersOf: BlockersOf;
  /** Why an issue of this assignee is left alone; `null`: it is not. */
  heldBack(assignee: Person): string | null;
}

/** An issue as Redmine tells it, in our words. What is wrong with it comes out when it is normalised. */
export function recordToIssue(record: Fields, context: RecordContext): RawIssue {
  const number = numberIn(record.id);
  const author = personIn(record.author);
  const assignee = personIn(record.assigned_to);
  const heldBack = context.heldBack(assignee);
  return {
    id: number,
    identifier: number === null ? null : identifierOf(number),
    title: record.subject,
    description: record.description,
    priority: PRIORITIES.get(textOf(fieldsOf(record.priority).name)?.toLowerCase() ?? '') ?? null,
    state: fieldsOf(record.status).name,
    url: number === null ? null : `${context.site}/issues/${number}`,
    assignee_id: assignee.id,
    // Judged already: Redmine's people are known by number, not by the name that is shown.
    author: authorIn(author, context),
    labels: labelsOf(record, context.labelFields),
    blocked_by: context.blockersOf(record),
    dispatchable: heldBack === null,
    held_back: heldBack,
    native_ref: number === null ? null : `#${number}`,
    created_at: record.created_on,
    updated_at: record.updated_on,
  };
}

/** The name that is shown is no good for a list of trusted people: everybody can change their own. */
function authorIn(author: Person, { judge, isTrustAList }: RecordContext): ReturnType<typeof authorOf> {
  const isMember = judge(author);
  const login = isTrustAList && !isMember && author.id !== null ? `${author.name} (user ${author.id})` : author.name;
  return authorOf({ login, isMember }, 'members');
}

/** Redmine's own names; it tells no order that would say as much for others. */
const PRIORITIES: ReadonlyMap<string, number> = new Map([
  ['immediate', 1],
  ['urgent', 1],
  ['high', 2],
  ['normal', 3],
  ['low', 4],
]);

/** Redmine has no labels: what it sorts issues by stands in for them. It does not say which custom fields are lists. */
function labelsOf(record: Fields, named: ReadonlySet<string>): readonly unknown[] {
  const labels: unknown[] = [fieldsOf(record.tracker).name, fieldsOf(record.category).name];
  for (const field of listOf(record.custom_fields)) {
    const { name, multiple, value } = fieldsOf(field);
    const isChosen = named.size === 0 ? multiple === true : named.has(textOf(name)?.trim().toLowerCase() ?? '');
    if (isChosen && Array.isArray(value)) labels.push(...value);
    else if (isChosen) labels.push(value);
  }
  return labels;
}

/** What somebody wrote on an issue. Changes without words are none. */
interface Note {
  readonly id: number;
  readonly person: Person;
  readonly text: string;
  readonly createdAt: string | null;
  readonly isPrivate: boolean;
}

/** One issue by itself, with what only that tells. Throws as the tracker does when it is gone. */
export async function readWhole(reading: HttpReading, number: number, include: string): Promise<Fields> {
  const { body } = await reading.get(`/issues/${number}.json?${new URLSearchParams({ include })}`);
  const { issue } = fieldsOf(body);
  if (fieldsOf(issue).id !== number) throw unreadable(`/issues/${number}.json`, 'without that issue');
  return fieldsOf(issue);
}

/** Oldest first, whatever order the account likes to see. */
export function notesIn(issue: Fields): readonly Note[] {
  const { journals } = issue;
  if (!Array.isArray(journals)) throw unreadable(`/issues/${String(issue.id)}.json`, 'without its journals');
  const notes = journals.map(fieldsOf).flatMap((journal): Note[] => {
    const id = numberIn(journal.id);
    const text = textOf(journal.notes);
    if (id === null || text === null) return [];
    const person = personIn(journal.user);
    return [{ id, person, text, createdAt: textOf(journal.created_on), isPrivate: isPrivate(journal) }];
  });
  return notes.sort((a, b) => a.id - b.id);
}

/** For those who have a right to it: an agent may repeat what it hears. */
export function isPrivate(journal: Fields): boolean {
  return journal.private_notes === true;
}

type BlockersOf = (record: Fields) => readonly Blocker[];

/** Who blocks these issues, with their states: those that are not among them are read, all at once and wherever they are. */
export async function readBlockers(records: readonly Fields[], reading: HttpReading): Promise<BlockersOf> {
  const known = new Map(records.map((record) => [numberIn(record.id), record]));
  const missing: number[] = [];
  for (const record of records) missing.push(...blockersIn(record).filter((number) => !known.has(number)));
  const others = await issuesByNumber(reading, null, missing);
  return (record) =>
    blockersIn(record).map((number) => ({
      id: String(number),
      identifier: identifierOf(number),
      state: textOf(fieldsOf((known.get(number) ?? others.get(number))?.status).name),
    }));
}

/** Redmine keeps "is blocked by" the other way round: `issue_id` blocks `issue_to_id`, on both of them. */
function blockersIn(record: Fields): readonly number[] {
  const numbers = foundIn(record.relations, (relation) => {
    const { relation_type: type, issue_to_id: to, issue_id: from } = fieldsOf(relation);
    return type === 'blocks' && to === record.id ? numberIn(from) : null;
  });
  if (numbers.length < 2) return numbers;
  // In an order of their own: another order would look like a change of the issue.
  return [...new Set(numbers)].sort((a, b) => a - b);
}
