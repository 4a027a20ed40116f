import type { Trust } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import { type Comment, type Issue, stateKey } from '../../domain/issue.js';
import { type Fields, fieldsOf, listOf, textOf } from '../../domain/json.js';
import type { RawIssue } from '../normalise-issue.js';
import { readPages } from '../read-pages.js';
import {
  authorOf,
  isTrustedWriter,
  MAX_COMMENTS,
  trustedComments,
  type Writer,
  type WrittenComment,
} from '../trust.js';
import { adfToMarkdown } from './adf-to-markdown.js';
import { ID, ISSUE, type JiraCalls, misshapen, type Place } from './api.js';
import { allOf } from './settings.js';

const PAGE_SIZE = 100;
/** As many as `bulkfetch` takes of issues with fields that hold several values. */
const BATCH_SIZE = 100;
/** Of so many issues a search can be made to know what was changed a moment ago. */
const MAX_RECONCILED = 50;

interface SearchOrder {
  readonly clauses: readonly string[];
  readonly fields: readonly string[];
  /** Ids of issues about which the search may not lag behind. */
  readonly upToDate?: readonly string[];
}

/** Every issue that all clauses say something true about, made into something page by page. */
export function searchIssues<Item extends Fields>(
  calls: JiraCalls,
  { clauses, fields, upToDate = [] }: SearchOrder,
  make: (record: unknown) => Item,
): Promise<readonly Item[]> {
  const reconciled = upToDate.length === 0 ? {} : { reconcileIssues: upToDate.map(Number) };
  const order = { jql: allOf(clauses), fields, maxResults: PAGE_SIZE, ...reconciled };
  return readPages<Item, string>({
    name: 'Jira',
    first: '',
    async read(cursor) {
      const page = cursor === '' ? {} : { nextPageToken: cursor };
      const { body } = await calls.post('/search/jql', { ...order, ...page });
      const { issues, nextPageToken, isLast } = fieldsOf(body);
      if (!Array.isArray(issues)) throw misshapen('the result of a search', 'has no list of issues');
      const next = isLast === true ? null : textOf(nextPageToken);
      if (isLast === false && next === null) throw endless();
      return { items: issues.map(make), next };
    },
    idOf: ({ id }) => textOf(id),
  });
}

interface Fetched {
  readonly records: readonly unknown[];
  /** Asked for, but Jira could not tell this time. */
  readonly unknown: readonly string[];
  readonly problems: readonly string[];
}

/** Issues by their ids or keys, also those that have another key by now. */
export async function fetchIssues(
  calls: JiraCalls,
  asked: readonly string[],
  fields: readonly string[],
): Promise<Fetched> {
  const records: unknown[] = [];
  const unknown: string[] = [];
  const problems: string[] = [];
  for (let at = 0; at < asked.length; at += BATCH_SIZE) {
    const batch = asked.slice(at, at + BATCH_SIZE);
    const { body } = await calls.post('/issue/bulkfetch', { issueIdsOrKeys: batch, fields });
    const { issues, issueErrors = [] } = fieldsOf(body);
    if (!Array.isArray(issues)) throw misshapen('the issues asked for', 'are no list');
    if (!Array.isArray(issueErrors)) throw misshapen('the list of errors', 'is no list');
    for (const record of issues) records.push(record);
    const failed = issueErrors.map((error) => textOf(fieldsOf(error).id));
    unknown.push(...unknownOf(batch, issues, failed));
    for (const error of issueErrors) problems.push(failure(calls, fieldsOf(error)));
  }
  return { records, unknown, problems };
}

/** Which of them match, as a search says. Their ids are numbers. */
export async function matchingIds(
  calls: JiraCalls,
  clauses: readonly string[],
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for (let at = 0; at < ids.length; at += MAX_RECONCILED) {
    const batch = ids.slice(at, at + MAX_RECONCILED);
    if (!batch.every((id) => ID.test(id))) throw misshapen('an issue', 'has an id that is no number');
    const order = { clauses: [...clauses, `id in (${batch.join(', ')})`], fields: ['id'], upToDate: batch };
    const matching = await searchIssues(calls, order, fieldsOf);
    for (const { id } of matching) found.add(textOf(id) ?? '');
  }
  return found;
}

/** The clauses that hold every question to what is configured. */
export function scopeClauses({ project }: Place, ownClause: string | null): readonly string[] {
  return [...(project === null ? [] : [`project = ${project.id}`]), ...(ownClause === null ? [] : [ownClause])];
}

/** An error names an issue by its id. Where a key was asked for, or no id is given, any that is missing may be meant. */
function unknownOf(
  batch: readonly string[],
  issues: readonly unknown[],
  failed: readonly (string | null)[],
): readonly string[] {
  if (failed.length === 0) return [];
  const names = issues.map(fieldsOf).flatMap(({ id, key }) => [textOf(id), textOf(key)?.toLowerCase()]);
  const found = new Set(names);
  const isAnyMeant = failed.some((id) => id === null || !batch.includes(id));
  return batch.filter((name) => !found.has(name.toLowerCase()) && (isAnyMeant || failed.includes(name)));
}

function failure(calls: JiraCalls, { id, errorMessage }: Fields): string {
  const which = ID.test(textOf(id) ?? '') ? `Issue ${textOf(id)}` : 'An issue';
  const why = calls.said({ body: { message: errorMessage } }).replace(/\.$/, '');
  return `${which} could not be read from Jira this time${why === '' ? '' : `: ${why}`}.`;
}

function endless(): BatonError {
  const message =
    'The pages of Jira do not fit together: one claims that there are more and does not say where. Baton reads them again at the next poll.';
  return new BatonError('tracker_pagination', message);
}

/** What is asked for of each issue. */
export const FIELDS = [
  ...['summary', 'description', 'status', 'priority', 'labels', 'issuelinks', 'project'],
  ...['assignee', 'creator', 'created', 'updated'],
];

export interface IssueContext {
  readonly trust: Trust;
  readonly assignee: WantedAssignee | null;
  /** Where people look at issues; `null`: not known. */
  readonly site: string | null;
}

/** One record of Jira, unchecked: `normaliseIssue` says whether it is an issue. */
export function toIssue(record: unknown, { trust, assignee: wanted, site }: IssueContext): RawIssue {
  const { id, key, fields: all } = fieldsOf(record);
  const fields = fieldsOf(all);
  const assignee = personOf(fields.assignee);
  const heldBack = wanted === null ? null : heldBackFrom(wanted, assignee);
  const identifier = textOf(key);
  return {
    id,
    identifier,
    title: fields.summary,
    description: adfToMarkdown(fields.description),
    priority: priorityNamed(fieldsOf(fields.priority).name),
    state: fieldsOf(fields.status).name,
    url: site !== null && /^\w+-\d+$/.test(identifier ?? '') ? `${site}/browse/${identifier}` : null,
    assignee_id: assignee?.accountId,
    author: authorIn(personOf(fields.creator), trust),
    labels: fields.labels,
    blocked_by: listOf(fields.issuelinks).flatMap(blockerIn),
    dispatchable: heldBack === null,
    held_back: heldBack,
    created_at: fields.created,
    updated_at: fields.updated,
  };
}

/** The number of the project that a record belongs to. */
export function projectIdOf(record: unknown): string | null {
  return textOf(fieldsOf(fieldsOf(fieldsOf(record).fields).project).id);
}

const PRIORITIES: ReadonlyMap<string, number> = new Map([
  ...['highest', 'critical', 'blocker', 'urgent'].map((name) => [name, 1] as const),
  ...['high', 'major'].map((name) => [name, 2] as const),
  ...['medium', 'normal'].map((name) => [name, 3] as const),
  ...['low', 'lowest', 'minor', 'trivial'].map((name) => [name, 4] as const),
]);

function priorityNamed(name: unknown): number | null {
  return PRIORITIES.get(stateKey(textOf(name) ?? '')) ?? null;
}

const BLOCKED = 'is blocked by';

/** A link is told from the side of the issue that it is read with: the other one is at its inward or at its outward end. */
function blockerIn(link: unknown): Fields[] {
  const { type, inwardIssue, outwardIssue } = fieldsOf(link);
  const { name, inward, outward } = fieldsOf(type);
  const says = (text: unknown, wanted: string) => stateKey(textOf(text) ?? '') === wanted;
  const isReversed = !says(inward, BLOCKED) && says(outward, BLOCKED);
  const isBlock = isReversed || says(inward, BLOCKED) || says(name, 'blocks');
  const blocker = isBlock ? (isReversed ? outwardIssue : inwardIssue) : undefined;
  const { id, key, fields } = fieldsOf(blocker);
  return blocker === undefined ? [] : [{ id, identifier: key, state: fieldsOf(fieldsOf(fields).status).name }];
}

/** As far as it is looked back for what trusted people said: others may have written page after page since. */
const MAX_PAGES = 5;

/** The newest comments of people who are trusted, oldest first. */
export async function readTrustedComments(
  calls: JiraCalls,
  issueId: string,
  trust: Trust,
): Promise<readonly Comment[]> {
  if (!ISSUE.test(issueId)) throw misshapen(`an issue with the id ${JSON.stringify(issueId)}`, 'has no comments');
  const newestFirst: WrittenComment[] = [];
  for (let page = 0, at = 0; page < MAX_PAGES && newestFirst.length < MAX_COMMENTS; page++) {
    const path = `/issue/${issueId}/comment?orderBy=-created&startAt=${at}&maxResults=${PAGE_SIZE}`;
    const { comments, total } = fieldsOf((await calls.get(path)).body);
    if (!Array.isArray(comments)) throw misshapen(`the comments of issue ${issueId}`, 'are no list');
    for (const comment of comments) newestFirst.push(...trustedComment(fieldsOf(comment), trust));
    at += comments.length;
    if (comments.length === 0 || typeof total !== 'number' || at >= total) break;
  }
  // Who wrote them is judged already, by more than one name.
  return trustedComments(newestFirst.reverse(), 'anyone');
}

/** Whoever changed it last wrote it as well. */
function trustedComment({ author, updateAuthor, body, created }: Fields, trust: Trust): readonly WrittenComment[] {
  const person = personOf(author);
  const editor = updateAuthor === undefined ? person : personOf(updateAuthor);
  if (!isTrustedPerson(person, trust) || !isTrustedPerson(editor, trust)) return [];
  const text = adfToMarkdown(body);
  if (text.trim() === '') return [];
  const login = person?.displayName ?? null;
  return [{ login, isMember: null, body: text, created_at: normal(textOf(created)) }];
}

/** UTC, as everywhere. */
function normal(time: string | null): string | null {
  const ms = Date.parse(time ?? '');
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}

/** An account of Atlassian's, as Jira tells it. */
interface Person {
  readonly accountId: string;
  readonly displayName: string;
  /** `null` where its owner keeps it to themselves. */
  readonly email: string | null;
  /** As far as Jira tells: neither a customer of a portal nor an app. A customer may have an account like everybody's, though. */
  readonly isMember: boolean;
}

function personOf(value: unknown): Person | null {
  const { accountId, displayName, emailAddress, accountType } = fieldsOf(value);
  const id = textOf(accountId);
  if (id === null) return null;
  const name = textOf(displayName) ?? id;
  return { accountId: id, displayName: name, email: textOf(emailAddress), isMember: accountType === 'atlassian' };
}

function isTrustedPerson(person: Person | null, trust: Trust): boolean {
  return writersOf(person).some((writer) => isTrustedWriter(writer, trust) === true);
}

/** Told by the name that people see, and by the one to write under `tracker.trust` where that is wanted. */
function authorIn(person: Person | null, trust: Trust): Issue['author'] {
  const trusted = isTrustedPerson(person, trust);
  const name = person?.displayName ?? null;
  const isToBeListed = person !== null && !trusted && typeof trust !== 'string';
  const login = isToBeListed ? `${name} (${person.accountId})` : name;
  const told = authorOf({ login, isMember: person?.isMember ?? false }, trust);
  return told && { ...told, trusted };
}

/** The person that `tracker.provider.assignee` means. */
export interface WantedAssignee {
  /** As written. */
  readonly name: string;
  is(person: Person): boolean;
}

/** Why an issue with this assignee is not ours, going on from "it …"; `null`: it is. */
function heldBackFrom(wanted: WantedAssignee, assignee: Person | null): string | null {
  if (assignee !== null && wanted.is(assignee)) return null;
  return `is assigned to ${assignee?.displayName ?? 'nobody'}, not to ${wanted.name}`;
}

export function assigneeNamed(name: string): WantedAssignee {
  const wanted = name.toLowerCase();
  return {
    name,
    is: ({ accountId, displayName, email }) =>
      [accountId, displayName, email].some((each) => each?.toLowerCase() === wanted),
  };
}

/** By id or address: anybody can call themselves anything, so that a displayed name proves nothing. */
function writersOf(person: Person | null): readonly Writer[] {
  if (person === null) return [{ login: null, isMember: false }];
  const { accountId, email, isMember } = person;
  const names = email === null ? [accountId] : [accountId, email];
  return names.map((login) => ({ login, isMember }));
}
