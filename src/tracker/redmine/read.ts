import { BatonError } from '../../domain/errors.js';
import type { Blocker } from '../../domain/issue.js';
import { type Fields, fieldsOf, foundIn, listOf, textOf } from '../../domain/json.js';
import type { HttpReading } from '../http/tracker-http.js';
import type { RawIssue } from '../normalise-issue.js';
import { authorOf } from '../trust.js';
import { identifierOf, idIn, invalidAnswer, readList } from './api.js';
import type { Scope } from './settings.js';
import { type IsTrusted, type Person, personIn } from './trust.js';

/** Issues per query: their numbers fit into one address, and the issues into one page. */
const BATCH = 100;

/** Oldest first, so that new issues do not shift the earlier pages. */
const ORDER = { sort: 'created_on:asc,id', include: 'relations' };

/** The issues of the project in these statuses. */
export function readByStatus(
  reading: HttpReading,
  scope: Scope,
  statusIds: readonly number[],
): Promise<readonly Fields[]> {
  const filters = { ...scopeFilters(scope), status_id: statusIds.join('|'), ...ORDER };
  return readIssues(reading, filters, scope);
}

/** The existing issues with these numbers, in any status. With `scope: null`, in all projects that the key can see. */
export async function readByNumber(
  reading: HttpReading,
  scope: Scope | null,
  numbers: readonly number[],
): Promise<ReadonlyMap<number, Fields>> {
  const found = new Map<number, Fields>();
  const wanted = [...new Set(numbers)].sort((a, b) => a - b);
  for (let at = 0; at < wanted.length; at += BATCH) {
    const batch = wanted.slice(at, at + BATCH);
    const filters = { ...(scope ? scopeFilters(scope) : {}), issue_id: batch.join(','), status_id: '*', ...ORDER };
    for (const record of await readIssues(reading, filters, scope)) {
      const number = idIn(record.id);
      if (number === null)
        throw new BatonError('tracker_response', 'Redmine answered with an issue that has no number.');
      if (batch.includes(number)) found.set(number, record);
    }
  }
  return found;
}

/** The server must apply the scope, because only it knows all subprojects. Without `subproject_id`, a server setting would decide. */
export function scopeFilters({ project, withSubprojects }: Scope): {
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
    const message = `Redmine has no project "${scope.project}", or there is no Redmine at that address. Check tracker.provider.project and tracker.provider.endpoint.`;
    throw new BatonError('tracker_status', message, { status: 404 }, { cause: error });
  }
}

export interface IssueContext {
  /** The base address of issue pages, without a trailing slash. */
  readonly site: string;
  /** Custom fields whose values are labels, in lower case; empty: all fields with several values. */
  readonly labelFields: ReadonlySet<string>;
  readonly isTrusted: IsTrusted;
  /** Then untrusted authors are shown with the number to write into the list. */
  readonly isTrustList: boolean;
  readonly blockersOf: BlockersOf;
  /** Why an issue with this assignee is not ours, continuing "it …"; `null` when it is. */
  assigneeReason(assignee: Person): string | null;
}

/** A record of Redmine as an issue, unchecked. */
export function toIssue(record: Fields, context: IssueContext): RawIssue {
  const number = idIn(record.id);
  const assignee = personIn(record.assigned_to);
  const heldBack = context.assigneeReason(assignee);
  return {
    id: number,
    identifier: number === null ? null : identifierOf(number),
    title: record.subject,
    description: record.description,
    priority: PRIORITIES.get(textOf(fieldsOf(record.priority).name)?.toLowerCase() ?? '') ?? null,
    state: fieldsOf(record.status).name,
    url: number === null ? null : `${context.site}/issues/${number}`,
    assignee_id: assignee.id,
    author: redmineAuthor(personIn(record.author), context),
    labels: labelsOf(record, context.labelFields),
    blocked_by: context.blockersOf(record),
    dispatchable: heldBack === null,
    held_back: heldBack,
    native_ref: number === null ? null : { issue_id: number },
    created_at: record.created_on,
    updated_at: record.updated_on,
  };
}

/** Redmine's default priorities. The API gives no order of custom ones. */
const PRIORITIES: ReadonlyMap<string, number> = new Map([
  ['immediate', 1],
  ['urgent', 1],
  ['high', 2],
  ['normal', 3],
  ['low', 4],
]);

/** Trust is decided by number. A trust list cannot use the displayed name, so untrusted authors are shown with their number. */
function redmineAuthor(author: Person, { isTrusted, isTrustList }: IssueContext): ReturnType<typeof authorOf> {
  const isMember = isTrusted(author);
  const login = isTrustList && !isMember && author.id !== null ? `${author.name} (user ${author.id})` : author.name;
  return authorOf({ login, isMember }, 'members');
}

/** Redmine has no labels: tracker, category and list fields stand in for them. The API does not mark list fields. */
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

type BlockersOf = (record: Fields) => readonly Blocker[];

/** Reads the blockers that are not among the records themselves, in any project. */
export async function readBlockers(records: readonly Fields[], reading: HttpReading): Promise<BlockersOf> {
  const known = new Map(records.map((record) => [idIn(record.id), record]));
  const missing: number[] = [];
  for (const record of records) missing.push(...blockersIn(record).filter((number) => !known.has(number)));
  const others = await readByNumber(reading, null, missing);
  return (record) =>
    blockersIn(record).map((number) => ({
      id: String(number),
      identifier: identifierOf(number),
      state: textOf(fieldsOf((known.get(number) ?? others.get(number))?.status).name),
    }));
}

/** Redmine stores a relation once, for both issues: `issue_id` blocks `issue_to_id`. */
function blockersIn(record: Fields): readonly number[] {
  const numbers = foundIn(record.relations, (relation) => {
    const { relation_type: type, issue_to_id: to, issue_id: from } = fieldsOf(relation);
    return type === 'blocks' && to === record.id ? idIn(from) : null;
  });
  if (numbers.length < 2) return numbers;
  // Sorted: another order would look like a change of the issue.
  return [...new Set(numbers)].sort((a, b) => a - b);
}

/** A comment on an issue. Journals without text are not notes. */
interface Note {
  readonly id: number;
  readonly person: Person;
  readonly text: string;
  readonly createdAt: string | null;
  readonly isPrivate: boolean;
}

/** One issue with its included lists. Throws `tracker_status` when the issue is gone. */
export async function readIssue(reading: HttpReading, number: number, include: string): Promise<Fields> {
  const { body } = await reading.get(`/issues/${number}.json?${new URLSearchParams({ include })}`);
  const { issue } = fieldsOf(body);
  if (fieldsOf(issue).id !== number) throw invalidAnswer(`/issues/${number}.json`, 'without that issue');
  return fieldsOf(issue);
}

/** Oldest first. Redmine's own order depends on the account. */
export function notesIn(issue: Fields): readonly Note[] {
  const { journals } = issue;
  if (!Array.isArray(journals)) throw invalidAnswer(`/issues/${String(issue.id)}.json`, 'without its journals');
  const notes = journals.map(fieldsOf).flatMap((journal): Note[] => {
    const id = idIn(journal.id);
    const text = textOf(journal.notes);
    if (id === null || text === null) return [];
    const person = personIn(journal.user);
    return [{ id, person, text, createdAt: textOf(journal.created_on), isPrivate: isPrivate(journal) }];
  });
  return notes.sort((a, b) => a.id - b.id);
}

/** Private notes are not shown to agents, which could repeat them in public. */
export function isPrivate(journal: Fields): boolean {
  return journal.private_notes === true;
}
