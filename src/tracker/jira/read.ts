import { BatonError } from '../../domain/errors.js';
import { type Fields, fieldsOf, textOf } from '../../domain/fields.js';
import { readPages } from '../read-pages.js';
import { ID } from './issue-name.js';
import { type JiraCalls, misshapen } from './api.js';
import { allOf } from './jql.js';
import type { Place } from './place.js';

const PAGE_SIZE = 100;
/** As many as `bulkfetch` takes of issues with fields that hold several values. */
const BATCH_SIZE = 100;
/** Of so many issues a search can be made to know what was changed a moment ago. */
const MAX_RECONCILED = 50;

export interface SearchOrder {
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

export interface Fetched {
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
