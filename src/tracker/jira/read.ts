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
import { ISSUE_REF, invalidAnswer, type JiraCalls, NUMERIC_ID } from './api.js';
import type { ProjectFacts } from './project.js';
import { joinClauses } from './settings.js';

/** The fields that Baton asks for. */
export const ISSUE_FIELDS = [
  ...['summary', 'description', 'status', 'priority', 'labels', 'issuelinks', 'project'],
  ...['assignee', 'creator', 'created', 'updated'],
];

const PAGE_SIZE = 100;
/** The most that `bulkfetch` takes for fields with several values. */
const BATCH_SIZE = 100;
/** The most issues for which a search can be forced to be up to date. */
const MAX_RECONCILED = 50;

interface Search {
  readonly clauses: readonly string[];
  readonly fields: readonly string[];
  /** Ids of issues for which the search index must not lag behind. */
  readonly upToDate?: readonly string[];
}

interface Conversion<Item> {
  convert(record: unknown): Item;
  /** What the conversion depends on besides the record: a page that comes again as it was is not converted again. Absent: nothing is kept. */
  readonly by?: string;
}

/** The issues that match all clauses. */
export async function searchIssues<Item>(
  calls: JiraCalls,
  { clauses, fields, upToDate = [] }: Search,
  { convert, by }: Conversion<Item>,
): Promise<readonly Item[]> {
  const reconciled = upToDate.length === 0 ? {} : { reconcileIssues: upToDate.map(Number) };
  const search = { jql: joinClauses(clauses), fields, maxResults: PAGE_SIZE, ...reconciled };
  const keep = {
    digest: (body: unknown) => converted(body, convert),
    ...(by === undefined ? {} : { isConditional: true, digestBy: by }),
  };
  const found = await readPages<Found<Item>, string>({
    name: 'Jira',
    first: '',
    async read(cursor) {
      const page = cursor === '' ? {} : { nextPageToken: cursor };
      const { body } = await calls.post('/search/jql', { ...search, ...page }, keep);
      const { issues, nextPageToken, isLast } = fieldsOf(body);
      if (!Array.isArray(issues)) throw invalidAnswer('the result of a search', 'has no list of issues');
      const next = isLast === true ? null : textOf(nextPageToken);
      if (isLast === false && next === null) {
        const message =
          'The pages of Jira are inconsistent: one claims that there are more, without a token to read them. Baton reads them again at the next poll.';
        throw new BatonError('tracker_pagination', message);
      }
      return { items: issues as readonly Found<Item>[], next };
    },
    idOf: ({ id }) => id,
  });
  return found.map(({ item }) => item);
}

interface Found<Item> {
  readonly id: string | null;
  readonly item: Item;
}

/** A page without a list stays as it is, and is rejected. */
function converted<Item>(body: unknown, convert: (record: unknown) => Item): unknown {
  const { issues, ...rest } = fieldsOf(body);
  if (!Array.isArray(issues)) return body;
  const found = issues.map((record): Found<Item> => ({ id: textOf(fieldsOf(record).id), item: convert(record) }));
  return { ...rest, issues: found };
}

interface FetchedIssues {
  readonly records: readonly unknown[];
  /** Ids about which Jira reported an error. */
  readonly unknown: readonly string[];
  readonly problems: readonly string[];
}

/** Issues by id or key. Jira also finds issues under the keys that they had before. */
export async function fetchIssues(
  calls: JiraCalls,
  refs: readonly string[],
  fields: readonly string[],
): Promise<FetchedIssues> {
  const records: unknown[] = [];
  const unknown: string[] = [];
  const problems: string[] = [];
  for (let at = 0; at < refs.length; at += BATCH_SIZE) {
    const batch = refs.slice(at, at + BATCH_SIZE);
    const { body } = await calls.post('/issue/bulkfetch', { issueIdsOrKeys: batch, fields });
    const { issues, issueErrors = [] } = fieldsOf(body);
    if (!Array.isArray(issues)) throw invalidAnswer('the list of issues', 'is not a list');
    if (!Array.isArray(issueErrors)) throw invalidAnswer('the list of errors', 'is not a list');
    for (const record of issues) records.push(record);
    const failed = issueErrors.map((error) => textOf(fieldsOf(error).id));
    unknown.push(...unknownRefs(batch, issues, failed));
    for (const error of issueErrors) problems.push(problemFor(calls, fieldsOf(error)));
  }
  return { records, unknown, problems };
}

/** An error names an issue by id. Without an id, or when a key was requested, it may mean any missing issue. */
function unknownRefs(
  batch: readonly string[],
  issues: readonly unknown[],
  failed: readonly (string | null)[],
): readonly string[] {
  if (failed.length === 0) return [];
  const names = issues.map(fieldsOf).flatMap(({ id, key }) => [textOf(id), textOf(key)?.toLowerCase()]);
  const found = new Set(names);
  const mayMeanAny = failed.some((id) => id === null || !batch.includes(id));
  return batch.filter((ref) => !found.has(ref.toLowerCase()) && (mayMeanAny || failed.includes(ref)));
}

function problemFor(calls: JiraCalls, { id, errorMessage }: Fields): string {
  const subject = NUMERIC_ID.test(textOf(id) ?? '') ? `Issue ${textOf(id)}` : 'An issue';
  const reason = calls.reasonIn({ body: { message: errorMessage } }).replace(/\.$/, '');
  return `${subject} could not be read from Jira this time${reason === '' ? '' : `: ${reason}`}.`;
}

/** The ids among `ids` that match all clauses. */
export async function matchingIds(
  calls: JiraCalls,
  clauses: readonly string[],
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const matching = new Set<string>();
  for (let at = 0; at < ids.length; at += MAX_RECONCILED) {
    const batch = ids.slice(at, at + MAX_RECONCILED);
    if (!batch.every((id) => NUMERIC_ID.test(id))) throw invalidAnswer('an issue', 'has an id that is not a number');
    const search = { clauses: [...clauses, `id in (${batch.join(', ')})`], fields: ['id'], upToDate: batch };
    for (const { id } of await searchIssues(calls, search, { convert: fieldsOf })) matching.add(textOf(id) ?? '');
  }
  return matching;
}

/** The clauses that restrict every search to the configured issues. */
export function scopeClauses({ project }: ProjectFacts, ownClause: string | null): readonly string[] {
  return [...(project === null ? [] : [`project = ${project.id}`]), ...(ownClause === null ? [] : [ownClause])];
}

export interface IssueContext {
  readonly trust: Trust;
  readonly assignee: WantedAssignee | null;
  /** The base address of issue pages; null when unknown. */
  readonly site: string | null;
}

/** A record of Jira as an issue, unchecked. */
export function toIssue(record: unknown, { trust, assignee: wanted, site }: IssueContext): RawIssue {
  const { id, key, fields: all } = fieldsOf(record);
  const fields = fieldsOf(all);
  const assignee = personIn(fields.assignee);
  const heldBack = wanted === null ? null : assigneeReason(wanted, assignee);
  const identifier = textOf(key);
  return {
    id,
    identifier,
    title: fields.summary,
    description: adfToMarkdown(fields.description),
    priority: PRIORITIES.get(stateKey(textOf(fieldsOf(fields.priority).name) ?? '')) ?? null,
    state: fieldsOf(fields.status).name,
    url: site !== null && /^\w+-\d+$/.test(identifier ?? '') ? `${site}/browse/${identifier}` : null,
    assignee_id: assignee?.accountId,
    author: jiraAuthor(personIn(fields.creator), trust),
    labels: fields.labels,
    blocked_by: listOf(fields.issuelinks).flatMap(blockerIn),
    dispatchable: heldBack === null,
    held_back: heldBack,
    created_at: fields.created,
    updated_at: fields.updated,
  };
}

/** The id of the project of a record. */
export function projectIdOf(record: unknown): string | null {
  return textOf(fieldsOf(fieldsOf(fieldsOf(record).fields).project).id);
}

const PRIORITIES: ReadonlyMap<string, number> = new Map([
  ...['highest', 'critical', 'blocker', 'urgent'].map((name) => [name, 1] as const),
  ...['high', 'major'].map((name) => [name, 2] as const),
  ...['medium', 'normal'].map((name) => [name, 3] as const),
  ...['low', 'lowest', 'minor', 'trivial'].map((name) => [name, 4] as const),
]);

const BLOCKED = 'is blocked by';

/** A link is described from the side of the issue that was read: the other issue is at its inward or its outward end. */
function blockerIn(link: unknown): Fields[] {
  const { type, inwardIssue, outwardIssue } = fieldsOf(link);
  const { name, inward, outward } = fieldsOf(type);
  const reads = (text: unknown, wanted: string) => stateKey(textOf(text) ?? '') === wanted;
  const isReversed = !reads(inward, BLOCKED) && reads(outward, BLOCKED);
  const isBlock = isReversed || reads(inward, BLOCKED) || reads(name, 'blocks');
  const blocker = isBlock ? (isReversed ? outwardIssue : inwardIssue) : undefined;
  const { id, key, fields } = fieldsOf(blocker);
  return blocker === undefined ? [] : [{ id, identifier: key, state: fieldsOf(fieldsOf(fields).status).name }];
}

/** The person that `tracker.provider.assignee` names. */
export interface WantedAssignee {
  /** As written in the settings. */
  readonly name: string;
  is(person: Person): boolean;
}

export function assigneeNamed(name: string): WantedAssignee {
  const wanted = name.toLowerCase();
  return {
    name,
    is: ({ accountId, displayName, email }) =>
      [accountId, displayName, email].some((each) => each?.toLowerCase() === wanted),
  };
}

/** Why an issue is not ours, continuing "it …"; `null` when it is. */
function assigneeReason(wanted: WantedAssignee, assignee: Person | null): string | null {
  if (assignee !== null && wanted.is(assignee)) return null;
  return `is assigned to ${assignee?.displayName ?? 'nobody'}, not to ${wanted.name}`;
}

/** Untrusted comments may fill whole pages. After this many pages, older trusted comments are not looked for. */
const MAX_COMMENT_PAGES = 5;

/** The newest comments of trusted users, oldest first. */
export async function readComments(calls: JiraCalls, issueId: string, trust: Trust): Promise<readonly Comment[]> {
  if (!ISSUE_REF.test(issueId))
    throw invalidAnswer(`an issue with the id ${JSON.stringify(issueId)}`, 'has no comments');
  const newestFirst: WrittenComment[] = [];
  for (let page = 0, at = 0; page < MAX_COMMENT_PAGES && newestFirst.length < MAX_COMMENTS; page++) {
    const path = `/issue/${issueId}/comment?orderBy=-created&startAt=${at}&maxResults=${PAGE_SIZE}`;
    const { comments, total } = fieldsOf((await calls.get(path)).body);
    if (!Array.isArray(comments)) throw invalidAnswer(`the list of comments on issue ${issueId}`, 'is not a list');
    for (const comment of comments) newestFirst.push(...trustedComment(fieldsOf(comment), trust));
    at += comments.length;
    if (comments.length === 0 || typeof total !== 'number' || at >= total) break;
  }
  // Trust is already decided here, by all names of a writer.
  return trustedComments(newestFirst.reverse(), 'anyone');
}

/** The last editor of a comment counts as its writer, too. */
function trustedComment({ author, updateAuthor, body, created }: Fields, trust: Trust): readonly WrittenComment[] {
  const person = personIn(author);
  const editor = updateAuthor === undefined ? person : personIn(updateAuthor);
  if (!isTrusted(person, trust) || !isTrusted(editor, trust)) return [];
  const text = adfToMarkdown(body);
  if (text.trim() === '') return [];
  const ms = Date.parse(textOf(created) ?? '');
  const createdAt = Number.isNaN(ms) ? null : new Date(ms).toISOString();
  return [{ login: person?.displayName ?? null, isMember: null, body: text, created_at: createdAt }];
}

/** An Atlassian account. */
interface Person {
  readonly accountId: string;
  readonly displayName: string;
  /** `null` when the profile hides it. */
  readonly email: string | null;
  /** Neither a portal customer nor an app. Customers with an Atlassian account count as members. */
  readonly isMember: boolean;
}

function personIn(value: unknown): Person | null {
  const { accountId, displayName, emailAddress, accountType } = fieldsOf(value);
  const id = textOf(accountId);
  if (id === null) return null;
  const name = textOf(displayName) ?? id;
  return { accountId: id, displayName: name, email: textOf(emailAddress), isMember: accountType === 'atlassian' };
}

function isTrusted(person: Person | null, trust: Trust): boolean {
  return writersOf(person).some((writer) => isTrustedWriter(writer, trust) === true);
}

/** By account id and e-mail address. The display name is not used: users can change theirs to any name. */
function writersOf(person: Person | null): readonly Writer[] {
  if (person === null) return [{ login: null, isMember: false }];
  const { accountId, email, isMember } = person;
  const names = email === null ? [accountId] : [accountId, email];
  return names.map((login) => ({ login, isMember }));
}

/** Shows the display name, and for untrusted users outside a list also the id to write into `tracker.trust`. */
function jiraAuthor(person: Person | null, trust: Trust): Issue['author'] {
  const trusted = isTrusted(person, trust);
  const name = person?.displayName ?? null;
  const isListable = person !== null && !trusted && typeof trust !== 'string';
  const login = isListable ? `${name} (${person.accountId})` : name;
  const author = authorOf({ login, isMember: person?.isMember ?? false }, trust);
  return author && { ...author, trusted };
}
