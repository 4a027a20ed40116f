import type { Trust } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import { type Blocker, type Comment, type Issue, stateKey } from '../../domain/issue.js';
import { type Fields, fieldsOf, listOf, textOf } from '../../domain/json.js';
import type { IssueBatch } from '../../domain/ports.js';
import type { ReadOrder } from '../forge.js';
import {
  completed,
  type ForgeIssue,
  hasLabels,
  type MappedRecord,
  mappingKey,
  mapWanted,
  problemsOf,
  toIssue,
} from '../forge-issue.js';
import { graphql } from '../http/graphql.js';
import type { HttpReading } from '../http/tracker-http.js';
import type { LabelStates } from '../label-states.js';
import { someOf } from '../normalise-issue.js';
import { inParallel } from '../read-pages.js';
import { authorOf, isTrustedWriter, MAX_COMMENTS, trustedComments, type WrittenComment } from '../trust.js';
import { approvalLabels } from '../untrusted-edit.js';
import { GITLAB, type GitlabApi, type Project, readList, readPage } from './api.js';
import { NUMBERS, readGitlabIssue, usernameOf } from './issue.js';
import { CLOSED, OPENED } from './settings.js';
import {
  type EditHistories,
  type GitlabRules,
  type HistoryResult,
  type IsMember,
  type Members,
  needsHistory,
  untrustedEdit,
} from './trust.js';

interface GitlabReadOrder extends ReadOrder {
  readonly api: GitlabApi;
  readonly project: Project;
  readonly members: Members;
  readonly blockers: Blockers;
  readonly histories: EditHistories;
}

/** The number of issues that fit into an address. */
const BATCH = 50;
/** Histories that one poll reads: the first time each takes a request or two. */
const MAX_HISTORIES = 200;

export async function readByStates(states: readonly string[], order: GitlabReadOrder): Promise<IssueBatch> {
  const { api, reading, project, mapping, blockers } = order;
  const wanted = new Set(states.map(stateKey));
  const state = wanted.has(CLOSED) ? (wanted.size === 1 ? 'closed' : 'all') : 'opened';
  const records = await readList(api, reading, {
    segments: ['issues'],
    query: Object.entries({ state, scope: 'all', order_by: 'created_at', sort: 'asc' }),
    read: (value) => {
      const found = readGitlabIssue(value);
      return { number: found.number, mapped: mapWanted(found, wanted, mapping) };
    },
    readBy: mappingKey(states, mapping),
    idOf: ({ number }) => (number === null ? null : String(number)),
  });
  if (records.length === 0) await project.proveGone(reading);
  const mapped = records.flatMap((record) => record.mapped ?? []);
  const issues = await completeIssues(mapped, order, MAX_HISTORIES);
  const problems = [...(blockers.problem === null ? [] : [blockers.problem]), ...problemsOf(mapped, mapping)];
  return { issues, unknown: [], problems: someOf(problems), ...reading.rateLimit };
}

export async function readByNumbers(numbers: readonly number[], order: GitlabReadOrder): Promise<IssueBatch> {
  const { api, reading, project, mapping } = order;
  const records: ForgeIssue[] = [];
  for (let at = 0; at < numbers.length; at += BATCH) {
    const batch = numbers.slice(at, at + BATCH);
    const answer = await readList(api, reading, {
      segments: ['issues'],
      query: [...batch.map((number) => ['iids[]', String(number)] as const), ['scope', 'all'], ['state', 'all']],
      read: readGitlabIssue,
      idOf: ({ number }) => (number === null ? null : String(number)),
    });
    records.push(...answer.filter(({ number }) => number === null || batch.includes(number)));
  }
  const seen = new Set(records.map(({ number }) => number));
  if (numbers.some((number) => !seen.has(number))) await project.proveGone(reading);
  const mapped = records
    .filter(({ isWork }) => isWork)
    .map((found) => ({ found, issue: toIssue(found, mapping), problem: null }));
  const issues = await completeIssues(mapped, order, Number.POSITIVE_INFINITY);
  return { issues, unknown: [], problems: someOf(problemsOf(mapped, mapping)), ...reading.rateLimit };
}

/** `null`: it does not exist, or the token may not see it. */
export async function readOne(number: number, api: GitlabApi, reading: HttpReading): Promise<ForgeIssue | null> {
  const { status, body } = await reading.get(api.projectPath('issues', number), { accept: [404] });
  if (status === 404) return null;
  const found = readGitlabIssue(body);
  if (found.number === number) return found;
  const message = `${GITLAB} sent something else than issue ${number}. Check tracker.provider.endpoint.`;
  throw new BatonError('tracker_response', message);
}

/** Adds what takes further requests, which are sent only where the answer can matter: members, blockers, and who edited an issue last. */
async function completeIssues(
  mapped: readonly MappedRecord<ForgeIssue>[],
  order: GitlabReadOrder,
  maxHistories: number,
): Promise<readonly Issue[]> {
  const { reading, trust, requiredLabels, mapping } = order;
  const complete = mapped.flatMap(({ found, issue }) => (issue === null ? [] : [{ found, issue }]));
  const stateLabelOf = (labels: readonly string[]) => mapping.states.labelFor(labels);
  const isMember = await readMembers(
    complete.map(({ found }) => found),
    order,
    stateLabelOf,
  );
  const rules: GitlabRules = { trust, requiredLabels, stateLabelOf, isMember };
  // No other issue can start, whatever its blockers and its history are.
  const candidates = complete.filter(({ found }) => found.isOpen === true && hasLabels(found, requiredLabels));
  const blockers = await order.blockers.read(
    candidates.flatMap(({ found }) => found.number ?? []),
    reading,
  );
  const uncertain = candidates.filter(({ found, issue }) => issue.held_back === null && needsHistory(found, rules));
  const histories = await order.histories.read(
    uncertain.map(({ found }) => found),
    { reading, rules, limit: maxHistories },
  );
  return complete.map(({ found, issue }) => {
    const history = found.number === null ? undefined : histories.get(found.number);
    const heldBack = issue.held_back ?? (history === undefined ? null : whyHeldBack(history, found, rules));
    return completed(issue, {
      author: authorOf({ login: found.author, isMember: isMember(found.author) }, trust),
      blocked_by: (found.number === null ? undefined : blockers.get(found.number)) ?? issue.blocked_by,
      dispatchable: heldBack === null,
      held_back: heldBack,
    });
  });
}

/** Members are read only where trust depends on them. */
async function readMembers(
  found: readonly ForgeIssue[],
  { members, reading, trust, requiredLabels }: GitlabReadOrder,
  stateLabelOf: GitlabRules['stateLabelOf'],
): Promise<IsMember> {
  if (trust !== 'members' && trust !== 'anyone') return () => false;
  const isApproved = (issue: ForgeIssue) =>
    hasLabels(issue, requiredLabels) && approvalLabels(issue, { requiredLabels, stateLabelOf }).length > 0;
  const people = found
    .filter((issue) => trust === 'members' || isApproved(issue))
    .flatMap(({ author, assignees }) => [author, ...assignees]);
  return members.among(people, reading);
}

function whyHeldBack(history: HistoryResult, found: ForgeIssue, rules: GitlabRules): string | null {
  switch (history) {
    case 'unreadable':
      return 'has a history that is too long to be read, so that its editors are unknown';
    case 'late':
      return 'was changed just now, and GitLab may not say yet by whom';
    case 'later':
      return 'is yet to be checked for edits of strangers, at one of the next polls';
    default:
      return untrustedEdit(found, history, rules);
  }
}

/** REST would take a request per issue. `blockedByCount` counts open blockers, hidden ones too. */
export const BLOCKERS_QUERY = `query BatonBlockers($project: ID!, $iids: [String!]) {
  project(fullPath: $project) {
    workItems(iids: $iids) {
      nodes {
        iid
        widgets {
          ... on WorkItemWidgetLinkedItems {
            blockedByCount
            linkedItems {
              nodes {
                linkType
                workItem {
                  iid
                  state
                  reference(full: true)
                  widgets { ... on WorkItemWidgetLabels { labels { nodes { title } } } }
                }
              }
            }
          }
        }
      }
    }
  }
}`;

const AT_ONCE = 4;
/** A field of the paid editions: only there an issue can block another. */
const PAID_FIELD = 'blockedByCount';
const HIDDEN: Blocker = { id: null, identifier: 'an issue that the token may not see', state: null };

/** The blockers of issues. An instance without blockers is asked once. */
export class Blockers {
  #missingField: string | null = null;

  constructor(
    private readonly api: GitlabApi,
    private readonly project: Project,
    private readonly states: LabelStates,
  ) {}

  /** By number; an issue that does not exist has none. */
  async read(numbers: readonly number[], reading: HttpReading): Promise<ReadonlyMap<number, readonly Blocker[]>> {
    const found = new Map<number, readonly Blocker[]>();
    if (numbers.length === 0 || this.#missingField !== null) return found;
    const { fullPath } = await this.project.facts(reading);
    const batches = Array.from({ length: Math.ceil(numbers.length / BATCH) }, (_, n) =>
      numbers.slice(n * BATCH, (n + 1) * BATCH),
    );
    await inParallel(batches, AT_ONCE, async (batch) => {
      if (this.#missingField !== null) return;
      for (const node of await this.#readBatch(fullPath, batch, reading)) {
        const number = NUMBERS.numberOf(textOf(node.iid) ?? '');
        if (number !== null) found.set(number, this.#blockersIn(node, fullPath));
      }
    });
    return this.#missingField === null ? found : new Map();
  }

  /** Why blockers are unknown, as a sentence; `null`: they are known, or this edition has none. */
  get problem(): string | null {
    if (this.#missingField === null || this.#missingField === PAID_FIELD) return null;
    return `${GITLAB} does not say what blocks an issue: it has no field "${this.#missingField}". Blockers are ignored until GitLab or Baton is updated.`;
  }

  async #readBatch(fullPath: string, numbers: readonly number[], reading: HttpReading): Promise<readonly Fields[]> {
    const { api } = this;
    try {
      const { project } = await graphql({
        ...{ reading, name: GITLAB, path: api.graphqlPath, query: BLOCKERS_QUERY },
        variables: { project: fullPath, iids: numbers.map(String) },
        mask: (text) => api.mask(text),
        classify: missingField,
      });
      const { nodes } = fieldsOf(fieldsOf(project).workItems);
      if (Array.isArray(nodes)) return nodes.map(fieldsOf);
    } catch (error) {
      if (!(error instanceof BatonError) || typeof error.details.missingField !== 'string') throw error;
      this.#missingField = error.details.missingField;
      return [];
    }
    const message = `${GITLAB}'s GraphQL API shows no issues of ${fullPath} to this token. It needs the scope api and a role in that project.`;
    throw new BatonError('tracker_response', message);
  }

  #blockersIn(node: Fields, fullPath: string): readonly Blocker[] {
    const links = listOf(node.widgets)
      .map(fieldsOf)
      .find((widget) => widget.linkedItems !== undefined);
    const items = listOf(fieldsOf(links?.linkedItems).nodes)
      .map(fieldsOf)
      .filter(({ linkType, workItem }) => linkType === 'is_blocked_by' && fieldsOf(workItem).iid !== undefined)
      .map(({ workItem }) => fieldsOf(workItem));
    const isHidden = Number(links?.[PAID_FIELD] ?? 0) > items.filter(({ state }) => state !== 'CLOSED').length;
    return [...items.map((item) => this.#blocker(item, fullPath)), ...(isHidden ? [HIDDEN] : [])];
  }

  #blocker(item: Fields, fullPath: string): Blocker {
    const { iid: written, state, reference, widgets } = item;
    const number = NUMBERS.numberOf(String(written));
    const isOpen = state === 'OPEN' ? true : state === 'CLOSED' ? false : null;
    const name = textOf(reference) ?? `#${String(written)}`;
    if (number === null || name.toLowerCase() !== `${fullPath}#${number}`.toLowerCase()) {
      // Labels of another project are no states of this one.
      return { id: name, identifier: name, state: isOpen === null ? null : isOpen ? OPENED : CLOSED };
    }
    const labels = listOf(widgets)
      .flatMap((widget) => listOf(fieldsOf(fieldsOf(widget).labels).nodes))
      .flatMap((label) => textOf(fieldsOf(label).title) ?? []);
    const known = isOpen === null ? null : this.states.of(isOpen, labels).state;
    return { id: String(number), identifier: NUMBERS.identifierOf(number), state: known };
  }
}

/** The error of GitLab for a field that it does not know. */
function missingField({ extensions, message }: Fields): BatonError | null {
  const { code, fieldName } = fieldsOf(extensions);
  if (code !== 'undefinedField') return null;
  return new BatonError('tracker_response', textOf(message) ?? 'a field is missing', {
    missingField: textOf(fieldName) ?? 'one of the fields',
  });
}

interface CommentsOrder {
  readonly api: GitlabApi;
  readonly reading: HttpReading;
  readonly members: Members;
  readonly trust: Trust;
}

/** Of a hundred notes each. Older comments do not belong into a prompt. */
const MAX_PAGES = 3;
const QUERY = Object.entries({ sort: 'desc', order_by: 'created_at', activity_filter: 'only_comments' });

/** Reads the newest notes first, until enough of them are trusted. */
export async function readComments(number: number, order: CommentsOrder): Promise<readonly Comment[]> {
  const { api, reading, trust } = order;
  const newestFirst: WrittenComment[] = [];
  for (let page = 1; page <= MAX_PAGES; page++) {
    const { items, next } = await readPage(
      api,
      reading,
      { segments: ['issues', number, 'notes'], query: QUERY, read: fieldsOf },
      page,
    );
    newestFirst.push(...(await commentsIn(items, order)));
    const trusted = newestFirst.filter((comment) => isTrustedWriter(comment, trust) !== false);
    if (next === null || trusted.length >= MAX_COMMENTS) break;
  }
  return trustedComments(newestFirst.reverse(), trust);
}

async function commentsIn(
  items: readonly unknown[],
  { members, reading, trust }: CommentsOrder,
): Promise<readonly WrittenComment[]> {
  // Notes of GitLab itself say who changed what. They are no comments.
  const notes = items.map(fieldsOf).filter(({ system }) => system !== true);
  const people = trust === 'members' ? notes.map(({ author }) => usernameOf(author)) : [];
  const isMember = await members.among(people, reading);
  return notes.map(({ author, body, created_at: at }) => ({
    login: usernameOf(author),
    isMember: isMember(usernameOf(author)),
    body: typeof body === 'string' ? body : '',
    created_at: typeof at === 'string' ? at : null,
  }));
}
