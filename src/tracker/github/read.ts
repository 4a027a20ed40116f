import type { TrackerConfig, Trust } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import { type Blocker, type Comment, type Issue, stateKey } from '../../domain/issue.js';
import { fieldsOf, listOf, textOf } from '../../domain/json.js';
import type { IssueBatch } from '../../domain/ports.js';
import type { HttpAnswer, HttpReading } from '../http/tracker-http.js';
import type { LabelStates } from '../label-states.js';
import { someOf } from '../normalise-issue.js';
import { inParallel, readPages } from '../read-pages.js';
import { isTrustedWriter, MAX_COMMENTS, trustedComments } from '../trust.js';
import { AT_ONCE, GITHUB, type GithubApi, type Repository } from './api.js';
import {
  CLOSED,
  type GithubIssue,
  identifierOf,
  type Mapping,
  OPEN,
  readGithubIssue,
  stateRivalry,
  toIssue,
  writerOf,
} from './issue.js';
import {
  changedByStranger,
  type EditHistories,
  type GithubComment,
  type HistoryFound,
  needsHistory,
  type Rules,
  withoutForeignWords,
} from './trust.js';

/** `states`: in the spelling of `LabelStates`, at least one. */
export async function readByStates(states: readonly string[], order: ReadOrder): Promise<IssueBatch> {
  const { api, reading, mapping } = order;
  const wanted = new Set(states.map(stateKey));
  const mapped = await readList(api, reading, {
    segments: ['issues'],
    query: { ...filterFor(states, order), sort: 'created', direction: 'asc' },
    parse: readGithubIssue,
    read: (github) => mapWanted(github, wanted, mapping),
    idOf: ({ github: { number } }) => (number === null ? null : String(number)),
  });
  return batchOf(mapped, order);
}

export async function readByNumbers(numbers: readonly number[], order: ReadOrder): Promise<IssueBatch> {
  const { reading, repository, mapping } = order;
  const answers = await inParallel(numbers, AT_ONCE, (number) => readOne(number, order));
  if (answers.includes(null)) await repository.proveGone(reading);
  const mapped = answers.flatMap((github) =>
    github === null || github.isPullRequest ? [] : [{ github, issue: toIssue(github, mapping), problem: null }],
  );
  return batchOf(mapped, order);
}

/** `null`: deleted, or moved to another repository, which is what a redirect says. */
export async function readOne(
  number: number,
  { api, reading }: Pick<ReadOrder, 'api' | 'reading'>,
): Promise<GithubIssue | null> {
  const path = api.repoPath('issues', number);
  const { status, body } = await reading.get(path, { isConditional: true, accept: [301, 404, 410] });
  if (status >= 300) return null;
  const found = readGithubIssue(body);
  if (found.number === number) return found;
  const message = `${GITHUB} answered a question about issue ${number} with something else. Check tracker.provider.endpoint.`;
  throw new BatonError('tracker_response', message);
}

/** What GitHub need not send. A comma would end a label's name, and a blank one is no label: no issue carries it, which is for the core to say. */
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

/** Neither an issue nor a problem: a pull request, or in another state. */
function mapWanted(github: GithubIssue, wanted: ReadonlySet<string>, mapping: Mapping): Mapped {
  const { isPullRequest, isOpen, labels } = github;
  const isElsewhere = isOpen !== null && !wanted.has(stateKey(mapping.states.of(isOpen, labels).state));
  if (isPullRequest || isElsewhere) return { github, issue: null, problem: null };
  try {
    return { github, issue: toIssue(github, mapping), problem: null };
  } catch (error) {
    if (!(error instanceof BatonError)) throw error;
    return { github, issue: null, problem: error.message };
  }
}

async function batchOf(mapped: readonly Mapped[], order: ReadOrder): Promise<IssueBatch> {
  const { reading, mapping } = order;
  const problems = mapped.flatMap(({ github, issue, problem }) =>
    issue === null ? (problem ?? []) : (stateRivalry(github, mapping.states) ?? []),
  );
  return { issues: await completeIssues(mapped, order), unknown: [], problems: someOf(problems), ...reading.rateLimit };
}

export interface ReadOrder {
  readonly api: GithubApi;
  readonly reading: HttpReading;
  readonly repository: Repository;
  readonly histories: EditHistories;
  readonly mapping: Mapping;
  readonly requiredLabels: TrackerConfig['requiredLabels'];
}

/** What came of a record: an issue, what is wrong with it, or nothing that was asked for. */
interface Mapped {
  readonly github: GithubIssue;
  readonly issue: Issue | null;
  readonly problem: string | null;
}

/** What takes further questions: what issues wait for, and who changed them last. Asked only where it can matter. */
async function completeIssues(mapped: readonly Mapped[], order: ReadOrder): Promise<readonly Issue[]> {
  const { api, reading, histories, mapping, requiredLabels } = order;
  const { trust, states } = mapping;
  const rules: Rules = { trust, requiredLabels, stateLabelOf: (labels) => states.labelFor(labels) };
  const found = mapped.flatMap(({ github, issue }) => (issue === null ? [] : [{ github, issue }]));
  const changes = await histories.read(
    found.map(({ github }) => github).filter((github) => needsHistory(github, rules)),
    reading,
  );
  const blocked = found.filter(({ github }) => github.blockers > 0);
  const blockers = new Map(
    await inParallel(
      blocked,
      AT_ONCE,
      async ({ github }) => [github.number, await readBlockers(github, api, reading, states)] as const,
    ),
  );
  return found.map(({ github, issue }) => {
    const blocked_by = blockers.get(github.number) ?? issue.blocked_by;
    const history = github.number === null ? undefined : changes.get(github.number);
    const heldBack = issue.held_back ?? (history === undefined ? null : whyHeldBack(history, github, rules));
    if (heldBack === null && blocked_by === issue.blocked_by) return issue;
    return { ...issue, blocked_by, dispatchable: heldBack === null, held_back: heldBack };
  });
}

function whyHeldBack(history: HistoryFound, github: GithubIssue, rules: Rules): string | null {
  if (history === 'unreadable') return 'has a history that GitHub does not show, so that nobody knows who changed it';
  if (history === 'late') return 'was changed just now, and GitHub does not tell yet by whom';
  return changedByStranger(github, history, rules);
}

interface ListOrder<Item, Record = unknown> {
  /** Below the repository. */
  readonly segments: readonly (string | number)[];
  readonly query?: { readonly [name: string]: string };
  /** What is kept of a record for as long as GitHub does not send it again; absent: all of it. */
  parse?(value: unknown): Record;
  /** Called page by page, so that a long list does not hold everything else up. */
  read(record: Record): Item;
  idOf(item: Item): string | null;
}

const PAGE_SIZE = 100;

/** A whole list of the repository, as far as the `Link` headers lead. */
export function readList<Item, Record>(
  api: GithubApi,
  reading: HttpReading,
  order: ListOrder<Item, Record>,
): Promise<readonly Item[]> {
  const { segments, query = {} } = order;
  const asked = new URLSearchParams({ ...query, per_page: String(PAGE_SIZE) });
  return readPages<Item, string>({
    name: GITHUB,
    first: api.url(`${api.repoPath(...segments)}?${asked}`).href,
    read: async (address) => {
      const { body, headers } = await readPage(new URL(address), reading, order);
      const next = nextPage(headers.link);
      if (next !== null && !(URL.canParse(next) && api.isBelowRepo(new URL(next), segments))) throw elsewhere(api);
      return { items: (listIn(body, segments) as readonly Record[]).map((record) => order.read(record)), next };
    },
    idOf: order.idOf,
  });
}

/** An ETag is about the items alone: behind a full page that was the last one there may be another by now, which only a whole answer names. */
async function readPage<Item, Record>(
  address: URL,
  reading: HttpReading,
  { parse }: ListOrder<Item, Record>,
): Promise<HttpAnswer> {
  const asked = { isConditional: true, ...(parse ? { digest: (body: unknown) => parsed(body, parse) } : {}) };
  const page = await reading.get(address, asked);
  const isFull = listOf(page.body).length >= PAGE_SIZE;
  const isDoubtful = page.isCached && isFull && nextPage(page.headers.link) === null;
  return isDoubtful ? reading.get(address, { ...asked, isRenewed: true }) : page;
}

/** What is no list stays what it is, for `listIn` to tell. */
function parsed(body: unknown, parse: (value: unknown) => unknown): unknown {
  return Array.isArray(body) ? body.map((value) => parse(value)) : body;
}

/** Throws `tracker_response`: what is no list is not an empty one. */
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

function elsewhere(api: GithubApi): BatonError {
  const message = `The pages of ${GITHUB} do not fit together: the next one is said to be outside of ${api.fullName}. Baton reads them again at the next poll.`;
  return new BatonError('tracker_pagination', message);
}

/** What an issue is blocked by. GitHub leaves out what the token may not see, and counts it all the same. */
async function readBlockers(
  { number, openBlockers }: Pick<GithubIssue, 'number' | 'openBlockers'>,
  api: GithubApi,
  reading: HttpReading,
  states: LabelStates,
): Promise<readonly Blocker[]> {
  if (number === null) return [];
  const seen = await readSeen(number, api, reading, states);
  const hidden = openBlockers - seen.filter(({ state }) => state !== CLOSED).length;
  if (hidden <= 0) return seen;
  const identifier =
    hidden === 1 ? 'an issue that the token does not see' : `${hidden} issues that the token does not see`;
  return [...seen, { id: null, identifier, state: null }];
}

async function readSeen(
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
  const { number, isOpen, labels } = readGithubIssue(value);
  if (number === null) {
    const message = 'GitHub named a blocker without a number. Check tracker.provider.endpoint.';
    throw new BatonError('tracker_response', message);
  }
  const [, repo = fullName] = /\/repos\/([^/]+\/[^/]+)$/.exec(textOf(fieldsOf(value).repository_url) ?? '') ?? [];
  if (repo.toLowerCase() === fullName.toLowerCase()) {
    const state = isOpen === null ? null : states.of(isOpen, labels).state;
    return { id: String(number), identifier: identifierOf(number), state };
  }
  // Labels of another repository are nobody's states here.
  const name = `${repo}#${number}`;
  return { id: name, identifier: name, state: isOpen === null ? null : isOpen ? OPEN : CLOSED };
}

/** As far as it is looked back for what members said: strangers may have written page after page since. */
const MAX_PAGES = 10;

/** GitHub tells comments oldest first and cannot turn that round: the count of the issue leads to the last page. */
export async function readComments(
  number: number,
  api: GithubApi,
  reading: HttpReading,
  trust: Trust,
): Promise<readonly Comment[]> {
  const issue = await readOne(number, { api, reading });
  const lastPage = Math.ceil((issue?.comments ?? 0) / PAGE_SIZE);
  const trusted: GithubComment[] = [];
  for (let page = lastPage; page > Math.max(0, lastPage - MAX_PAGES) && trusted.length < MAX_COMMENTS; page--) {
    const written = await readPageReadComments(number, page, api, reading);
    trusted.unshift(...written.filter((comment) => isTrustedWriter(comment, trust) !== false));
  }
  if (trust === 'members' || trust === 'anyone') return trustedComments(trusted, trust);
  return trustedComments(await withoutForeignWords(trusted.slice(-MAX_COMMENTS), api, reading, trust), trust);
}

async function readPageReadComments(
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
