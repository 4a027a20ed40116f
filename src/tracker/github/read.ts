import type { Trust } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import { type Blocker, type Comment, type Issue, stateKey } from '../../domain/issue.js';
import { fieldsOf, listOf, textOf } from '../../domain/json.js';
import type { IssueBatch } from '../../domain/ports.js';
import { type ReadOrder, stateOf } from '../forge.js';
import { completed, type MappedRecord, mappingKey, mapWanted, problemsOf, toIssue } from '../forge-issue.js';
import type { HttpAnswer, HttpReading } from '../http/tracker-http.js';
import type { LabelStates } from '../label-states.js';
import { someOf } from '../normalise-issue.js';
import { inParallel, readPages } from '../read-pages.js';
import { authorOf, isTrustedWriter, MAX_COMMENTS, trustedComments } from '../trust.js';
import type { EditRules } from '../untrusted-edit.js';
import { AT_ONCE, GITHUB, type GithubApi, type Repository } from './api.js';
import { type GithubIssue, NUMBERS, readGithubIssue, writerOf } from './issue.js';
import { CLOSED, OPEN } from './settings.js';
import {
  type EditHistories,
  type GithubComment,
  type HistoryResult,
  needsHistory,
  untrustedEdit,
  withoutUntrustedEdits,
} from './trust.js';

interface GithubReadOrder extends ReadOrder {
  readonly api: GithubApi;
  readonly repository: Repository;
  readonly histories: EditHistories;
}

export async function readByStates(states: readonly string[], order: GithubReadOrder): Promise<IssueBatch> {
  const { api, reading, mapping } = order;
  const wanted = new Set(states.map(stateKey));
  const records = await readList(api, reading, {
    segments: ['issues'],
    query: { ...filterFor(states, order), sort: 'created', direction: 'asc' },
    read: (value) => {
      const found = readGithubIssue(value);
      return { number: found.number, mapped: mapWanted(found, wanted, mapping) };
    },
    readBy: mappingKey(states, mapping),
    idOf: ({ number }) => (number === null ? null : String(number)),
  });
  return batchOf(
    records.flatMap(({ mapped }) => mapped ?? []),
    order,
  );
}

export async function readByNumbers(numbers: readonly number[], order: GithubReadOrder): Promise<IssueBatch> {
  const { api, reading, repository, mapping } = order;
  const answers = await inParallel(numbers, AT_ONCE, (number) => readOne(number, api, reading));
  if (answers.includes(null)) await repository.proveGone(reading);
  const mapped = answers.flatMap((found) =>
    found?.isWork ? [{ found, issue: toIssue(found, mapping), problem: null }] : [],
  );
  return batchOf(mapped, order);
}

/** `null`: deleted, or moved to another repository (GitHub answers with a redirect). */
export async function readOne(number: number, api: GithubApi, reading: HttpReading): Promise<GithubIssue | null> {
  const path = api.repoPath('issues', number);
  const { status, body } = await reading.get(path, { isConditional: true, accept: [301, 404, 410] });
  if (status >= 300) return null;
  const found = readGithubIssue(body);
  if (found.number === number) return found;
  const message = `${GITHUB} sent something else than issue ${number}. Check tracker.provider.endpoint.`;
  throw new BatonError('tracker_response', message);
}

/** Narrows the list on GitHub's side. A label with a comma cannot be written, and a blank one is none: the core judges these. */
function filterFor(
  states: readonly string[],
  { mapping, requiredLabels }: ReadOrder,
): { readonly [name: string]: string } {
  const isClosedWanted = states.includes(CLOSED);
  const state = isClosedWanted ? (states.length === 1 ? 'closed' : 'all') : 'open';
  const [only] = states.length === 1 ? states.flatMap((name) => mapping.states.labelOf(name) ?? []) : [];
  const labels = [...requiredLabels, ...(only === undefined ? [] : [only])].filter(
    (label) => label !== '' && !label.includes(','),
  );
  return { state, ...(labels.length === 0 ? {} : { labels: labels.join(',') }) };
}

async function batchOf(mapped: readonly MappedRecord<GithubIssue>[], order: GithubReadOrder): Promise<IssueBatch> {
  const issues = await completeIssues(mapped, order);
  const problems = someOf(problemsOf(mapped, order.mapping));
  return { issues, unknown: [], problems, ...order.reading.rateLimit };
}

/** Adds what takes further requests, which are sent only where the answer can matter: blockers, and who edited an issue last. */
async function completeIssues(
  mapped: readonly MappedRecord<GithubIssue>[],
  order: GithubReadOrder,
): Promise<readonly Issue[]> {
  const { api, reading, histories, mapping, requiredLabels, trust } = order;
  const { states } = mapping;
  const rules: EditRules = { trust, requiredLabels, stateLabelOf: (labels) => states.labelFor(labels) };
  const complete = mapped.filter(({ issue }) => issue !== null);
  const edits = await histories.read(
    complete.map(({ found }) => found).filter((found) => needsHistory(found, rules)),
    reading,
  );
  const blocked = complete.filter(({ found }) => found.blockers > 0);
  const blockers = new Map(
    await inParallel(
      blocked,
      AT_ONCE,
      async ({ found }) => [found.number, await readBlockers(found, api, reading, states)] as const,
    ),
  );
  return complete.flatMap(({ found, issue }) => {
    if (issue === null) return [];
    const history = found.number === null ? undefined : edits.get(found.number);
    const heldBack = issue.held_back ?? (history === undefined ? null : whyHeldBack(history, found, rules));
    return completed(issue, {
      author: authorOf({ login: found.author, isMember: found.isAuthorMember }, trust),
      blocked_by: blockers.get(found.number) ?? issue.blocked_by,
      dispatchable: heldBack === null,
      held_back: heldBack,
    });
  });
}

function whyHeldBack(history: HistoryResult, found: GithubIssue, rules: EditRules): string | null {
  if (history === 'unreadable') return 'has a history that GitHub does not show, so that its editors are unknown';
  if (history === 'late') return 'was changed just now, and GitHub does not say yet by whom';
  return untrustedEdit(found, history, rules);
}

interface ListOrder<Item> {
  /** Below the repository. */
  readonly segments: readonly (string | number)[];
  readonly query?: { readonly [name: string]: string };
  /** Converts a record when its page arrives, before the page is cached. */
  read(value: unknown): Item;
  /** What the conversion depends on besides the record. */
  readonly readBy?: string;
  idOf(item: Item): string | null;
}

const PAGE_SIZE = 100;

/** A whole list of the repository: follows the `Link` headers. */
export function readList<Item>(api: GithubApi, reading: HttpReading, order: ListOrder<Item>): Promise<readonly Item[]> {
  const { segments, query = {} } = order;
  const search = new URLSearchParams({ ...query, per_page: String(PAGE_SIZE) });
  return readPages<Item, string>({
    name: GITHUB,
    first: api.url(`${api.repoPath(...segments)}?${search}`).href,
    read: async (address) => {
      const { body, headers } = await readPage(new URL(address), reading, order);
      const next = nextPage(headers.link);
      if (next !== null && !(URL.canParse(next) && api.isBelowRepo(new URL(next), segments))) throw outsidePage(api);
      return { items: listIn(body, segments) as readonly Item[], next };
    },
    idOf: order.idOf,
  });
}

/** An ETag covers the items alone. A full page that was the last one may have a next page by now, which only a whole answer names. */
async function readPage<Item>(
  address: URL,
  reading: HttpReading,
  { read, readBy = '' }: ListOrder<Item>,
): Promise<HttpAnswer> {
  const options = { isConditional: true, digest: (body: unknown) => converted(body, read), digestBy: readBy };
  const page = await reading.get(address, options);
  const isFull = listOf(page.body).length >= PAGE_SIZE;
  const isDoubtful = page.isCached && isFull && nextPage(page.headers.link) === null;
  return isDoubtful ? reading.get(address, { ...options, isRenewed: true }) : page;
}

/** A body that is no list stays as it is; `listIn` rejects it. */
function converted(body: unknown, read: (value: unknown) => unknown): unknown {
  return Array.isArray(body) ? body.map((value) => read(value)) : body;
}

/** Throws `tracker_response`: a body that is no list must not pass for an empty one. */
function listIn(body: unknown, segments: readonly (string | number)[]): readonly unknown[] {
  if (Array.isArray(body)) return body;
  const message = `${GITHUB} answered without a list of ${segments.join('/')}. Check tracker.provider.endpoint.`;
  throw new BatonError('tracker_response', message);
}

/** The address after `<`, of the link whose `rel` is `next`. */
function nextPage(link: string | readonly string[] | undefined): string | null {
  for (const [, address = '', more = ''] of String(link ?? '').matchAll(/<([^>]*)>([^<]*)/g)) {
    if (/;\s*rel="?next"?/i.test(more)) return address;
  }
  return null;
}

function outsidePage(api: GithubApi): BatonError {
  const message = `The pages of ${GITHUB} do not fit together: the next one is outside of ${api.fullName}. Baton reads them again at the next poll.`;
  return new BatonError('tracker_pagination', message);
}

/** The blockers of an issue. GitHub counts blockers that the token may not see, but does not list them. */
async function readBlockers(
  { number, openBlockers }: Pick<GithubIssue, 'number' | 'openBlockers'>,
  api: GithubApi,
  reading: HttpReading,
  states: LabelStates,
): Promise<readonly Blocker[]> {
  if (number === null) return [];
  const visible = await readVisible(number, api, reading, states);
  const hidden = openBlockers - visible.filter(({ state }) => state !== CLOSED).length;
  if (hidden <= 0) return visible;
  const identifier =
    hidden === 1 ? 'an issue that the token may not see' : `${hidden} issues that the token may not see`;
  return [...visible, { id: null, identifier, state: null }];
}

async function readVisible(
  number: number,
  api: GithubApi,
  reading: HttpReading,
  states: LabelStates,
): Promise<readonly Blocker[]> {
  try {
    return await readList(api, reading, {
      segments: ['issues', number, 'dependencies', 'blocked_by'],
      read: (value) => blockerIn(value, api, states),
      idOf: ({ id }) => id,
    });
  } catch (error) {
    if (error instanceof BatonError && error.code === 'tracker_status' && error.details.status === 404) return [];
    throw error;
  }
}

function blockerIn(value: unknown, { fullName }: GithubApi, states: LabelStates): Blocker {
  const blocker = readGithubIssue(value);
  const { number, isOpen } = blocker;
  if (number === null) {
    const message = 'GitHub named a blocker without a number. Check tracker.provider.endpoint.';
    throw new BatonError('tracker_response', message);
  }
  const [, repo = fullName] = /\/repos\/([^/]+\/[^/]+)$/.exec(textOf(fieldsOf(value).repository_url) ?? '') ?? [];
  if (repo.toLowerCase() === fullName.toLowerCase()) {
    return { id: String(number), identifier: NUMBERS.identifierOf(number), state: stateOf(blocker, states) };
  }
  // Labels of another repository are no states of this one.
  const name = `${repo}#${number}`;
  return { id: name, identifier: name, state: isOpen === null ? null : isOpen ? OPEN : CLOSED };
}

/** Limits the search for comments of trusted users, because strangers may have written many newer ones. */
const MAX_PAGES = 10;

/** GitHub lists comments oldest first only, so the count of the issue leads to the last page. */
export async function readComments(
  number: number,
  api: GithubApi,
  reading: HttpReading,
  trust: Trust,
): Promise<readonly Comment[]> {
  const issue = await readOne(number, api, reading);
  const lastPage = Math.ceil((issue?.comments ?? 0) / PAGE_SIZE);
  const trusted: GithubComment[] = [];
  for (let page = lastPage; page > Math.max(0, lastPage - MAX_PAGES) && trusted.length < MAX_COMMENTS; page--) {
    const comments = await readCommentPage(number, page, api, reading);
    trusted.unshift(...comments.filter((comment) => isTrustedWriter(comment, trust) !== false));
  }
  if (trust === 'members' || trust === 'anyone') return trustedComments(trusted, trust);
  return trustedComments(await withoutUntrustedEdits(trusted.slice(-MAX_COMMENTS), api, reading, trust), trust);
}

async function readCommentPage(
  number: number,
  page: number,
  api: GithubApi,
  reading: HttpReading,
): Promise<readonly GithubComment[]> {
  const segments = ['issues', number, 'comments'];
  const path = `${api.repoPath(...segments)}?per_page=${PAGE_SIZE}&page=${page}`;
  const { body } = await reading.get(path, { isConditional: true });
  return listIn(body, segments).map((value) => {
    const fields = fieldsOf(value);
    const { body: text, created_at: at } = fields;
    return {
      ...writerOf(fields),
      nodeId: textOf(fields.node_id),
      body: typeof text === 'string' ? text : '',
      created_at: typeof at === 'string' ? at : null,
    };
  });
}
