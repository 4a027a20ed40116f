import type { Trust } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import { type Blocker, type Comment, type Issue, stateKey } from '../../domain/issue.js';
import { type Fields, fieldsOf, listOf, textOf } from '../../domain/json.js';
import type { IssueBatch } from '../../domain/ports.js';
import { graphql } from '../http/graphql.js';
import type { HttpReading } from '../http/tracker-http.js';
import type { LabelStates } from '../label-states.js';
import { someOf } from '../normalise-issue.js';
import { inParallel } from '../read-pages.js';
import { authorOf, isTrustedWriter, MAX_COMMENTS, trustedComments, type WrittenComment } from '../trust.js';
import { GITLAB, type GitlabApi, type Project, readList, readPage } from './api.js';
import {
  CLOSED,
  type GitlabIssue,
  hasLabels,
  identifierOf,
  iidOf,
  type Mapping,
  OPENED,
  readGitlabIssue,
  stateRivalry,
  toIssue,
  usernameOf,
} from './issue.js';
import {
  type ChangeHistories,
  changedByStranger,
  type HistoryFound,
  type IsMember,
  type Members,
  needsHistory,
  type Rules,
  startLabels,
} from './trust.js';

export interface ReadOrder extends CompleteOrder {
  readonly api: GitlabApi;
  readonly project: Project;
  readonly mapping: Mapping;
}

/** An issue, or what is wrong with it. */
interface Mapped {
  readonly gitlab: GitlabIssue;
  readonly found: FoundIssue | null;
  readonly problem: string | null;
}

/** So many fit into an address. */
const BATCH = 50;
/** Each takes a request or two, the first time. */
const MAX_HISTORIES = 200;

/** `states`: in the spelling of `LabelStates`, at least one. */
export async function readByStates(states: readonly string[], order: ReadOrder): Promise<IssueBatch> {
  const { api, reading, project, mapping, blockers } = order;
  const wanted = new Set(states.map(stateKey));
  const state = wanted.has(CLOSED) ? (wanted.size === 1 ? 'closed' : 'all') : 'opened';
  const read = await readList(api, reading, {
    segments: ['issues'],
    query: Object.entries({ state, scope: 'all', order_by: 'created_at', sort: 'asc' }),
    parse: readGitlabIssue,
    read: (gitlab) => ({ iid: gitlab.iid, mapped: mapWanted(gitlab, wanted, mapping) }),
    idOf: ({ iid }) => (iid === null ? null : String(iid)),
  });
  if (read.length === 0) await project.proveGone(reading);
  const kept = read.flatMap(({ mapped }) => mapped ?? []);
  const issues = await completeIssues(
    kept.flatMap(({ found }) => found ?? []),
    order,
    MAX_HISTORIES,
  );
  const problems = [
    ...(blockers.problem === null ? [] : [blockers.problem]),
    ...kept.flatMap(({ gitlab, problem }) => problem ?? stateRivalry(gitlab, mapping.states) ?? []),
  ];
  return { issues, unknown: [], problems: someOf(problems), ...reading.rateLimit };
}

export async function readByNumbers(iids: readonly number[], order: ReadOrder): Promise<IssueBatch> {
  const { api, reading, project, mapping } = order;
  const records: GitlabIssue[] = [];
  for (let at = 0; at < iids.length; at += BATCH) {
    const batch = iids.slice(at, at + BATCH);
    const asked = new Set(batch);
    const answer = await readList(api, reading, {
      segments: ['issues'],
      query: [...batch.map((iid) => ['iids[]', String(iid)] as const), ['scope', 'all'], ['state', 'all']],
      parse: readGitlabIssue,
      read: (gitlab) => gitlab,
      idOf: ({ iid }) => (iid === null ? null : String(iid)),
    });
    records.push(...answer.filter(({ iid }) => iid === null || asked.has(iid)));
  }
  const seen = new Set(records.map(({ iid }) => iid));
  if (iids.some((iid) => !seen.has(iid))) await project.proveGone(reading);
  const found = records.filter(({ isWork }) => isWork).map((gitlab) => ({ gitlab, issue: toIssue(gitlab, mapping) }));
  const problems = found.flatMap(({ gitlab }) => stateRivalry(gitlab, mapping.states) ?? []);
  const issues = await completeIssues(found, order, Number.POSITIVE_INFINITY);
  return { issues, unknown: [], problems: someOf(problems), ...reading.rateLimit };
}

/** `null`: it is not there, or the token may not see it. */
export async function readOne(iid: number, api: GitlabApi, reading: HttpReading): Promise<GitlabIssue | null> {
  const { status, body } = await reading.get(api.projectPath('issues', iid), { accept: [404] });
  if (status === 404) return null;
  const found = readGitlabIssue(body);
  if (found.iid === iid) return found;
  const message = `${GITLAB} answered a question about issue ${iid} with something else. Check tracker.provider.endpoint.`;
  throw new BatonError('tracker_response', message);
}

/** `null`: in another state, or nothing to work on. */
function mapWanted(gitlab: GitlabIssue, wanted: ReadonlySet<string>, mapping: Mapping): Mapped | null {
  const { isWork, isOpen, labels } = gitlab;
  if (!isWork) return null;
  if (isOpen !== null && !wanted.has(stateKey(mapping.states.of(isOpen, labels).state))) return null;
  try {
    return { gitlab, found: { gitlab, issue: toIssue(gitlab, mapping) }, problem: null };
  } catch (error) {
    if (!(error instanceof BatonError)) throw error;
    return { gitlab, found: null, problem: error.message };
  }
}

interface FoundIssue {
  readonly gitlab: GitlabIssue;
  readonly issue: Issue;
}

interface CompleteOrder {
  readonly reading: HttpReading;
  readonly members: Members;
  readonly blockers: Blockers;
  readonly histories: ChangeHistories;
  readonly trust: Trust;
  readonly requiredLabels: readonly string[];
  readonly stateLabelOf: Rules['stateLabelOf'];
}

/** What takes further questions: who is a member, what issues wait for, and who changed them last. Asked only where it can matter. */
async function completeIssues(
  found: readonly FoundIssue[],
  order: CompleteOrder,
  maxHistories: number,
): Promise<readonly Issue[]> {
  const { reading, trust, requiredLabels, stateLabelOf } = order;
  const isMember = await judge(found, order);
  const rules: Rules = { trust, requiredLabels, stateLabelOf, isMember };
  // Nothing else can start, whatever it waits for and whoever changed it.
  const candidates = found.filter(({ gitlab }) => gitlab.isOpen === true && hasLabels(gitlab, requiredLabels));
  const blockers = await order.blockers.read(
    candidates.flatMap(({ gitlab }) => gitlab.iid ?? []),
    reading,
  );
  const doubtful = candidates.filter(({ gitlab, issue }) => issue.held_back === null && needsHistory(gitlab, rules));
  const histories = await order.histories.read(
    doubtful.map(({ gitlab }) => gitlab),
    { reading, rules, limit: maxHistories },
  );
  return found.map(({ gitlab, issue }) => {
    const history = gitlab.iid === null ? undefined : histories.get(gitlab.iid);
    const heldBack = issue.held_back ?? (history === undefined ? null : whyHeldBack(history, gitlab, rules));
    return {
      ...issue,
      author: authorOf({ login: gitlab.author, isMember: isMember(gitlab.author) }, trust),
      blocked_by: (gitlab.iid === null ? undefined : blockers.get(gitlab.iid)) ?? issue.blocked_by,
      dispatchable: heldBack === null,
      held_back: heldBack,
    };
  });
}

/** Members are read only where somebody's trust hangs on them. */
async function judge(found: readonly FoundIssue[], order: CompleteOrder): Promise<IsMember> {
  const { members, reading, trust, requiredLabels } = order;
  if (trust !== 'members' && trust !== 'anyone') return () => false;
  const people = found
    .map(({ gitlab }) => gitlab)
    .filter((each) => trust === 'members' || (hasLabels(each, requiredLabels) && startLabels(each, order).length > 0))
    .flatMap(({ author, assignees }) => [author, ...assignees]);
  return members.among(people, reading);
}

function whyHeldBack(history: HistoryFound, gitlab: GitlabIssue, rules: Rules): string | null {
  switch (history) {
    case 'unreadable':
      return 'has a history without end, so that nobody knows who changed it';
    case 'late':
      return 'was changed just now, and GitLab may not tell yet by whom';
    case 'later':
      return 'is yet to be looked through for changes by strangers, at one of the next polls';
    default:
      return changedByStranger(gitlab, history, rules);
  }
}

/** REST would take a question per issue. The count is of open blockers, whether the token may see them or not. */
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

/** As many issues as one question is about. */

const AT_ONCE = 4;
/** The field that only editions have in which an issue can block another. */
const PAID_FIELD = 'blockedByCount';
const HIDDEN: Blocker = { id: null, identifier: 'an issue that the token may not see', state: null };

/** What issues are blocked by. An instance that knows no blockers is asked once. */
export class Blockers {
  #missingField: string | null = null;

  constructor(
    private readonly api: GitlabApi,
    private readonly project: Project,
    private readonly states: LabelStates,
  ) {}

  /** By number; an issue that is not there has none. */
  async read(iids: readonly number[], reading: HttpReading): Promise<ReadonlyMap<number, readonly Blocker[]>> {
    const found = new Map<number, readonly Blocker[]>();
    if (iids.length === 0 || this.#missingField !== null) return found;
    const { fullPath } = await this.project.facts(reading);
    const batches = Array.from({ length: Math.ceil(iids.length / BATCH) }, (_, n) =>
      iids.slice(n * BATCH, (n + 1) * BATCH),
    );
    await inParallel(batches, AT_ONCE, async (batch) => {
      if (this.#missingField !== null) return;
      for (const node of await this.#ask(fullPath, batch, reading)) {
        const iid = iidOf(textOf(node.iid) ?? '');
        if (iid !== null) found.set(iid, this.#blockersIn(node, fullPath));
      }
    });
    return this.#missingField === null ? found : new Map();
  }

  /** A sentence for people, where blockers should be known and are not. */
  get problem(): string | null {
    if (this.#missingField === null || this.#missingField === PAID_FIELD) return null;
    return `${GITLAB} does not tell what blocks an issue: it knows no "${this.#missingField}". Blockers do not count until GitLab or Baton is updated.`;
  }

  async #ask(fullPath: string, iids: readonly number[], reading: HttpReading): Promise<readonly Fields[]> {
    const { api } = this;
    try {
      const { project } = await graphql({
        ...{ reading, name: GITLAB, path: api.graphqlPath, query: BLOCKERS_QUERY },
        variables: { project: fullPath, iids: iids.map(String) },
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
    const iid = iidOf(String(written));
    const isOpen = state === 'OPEN' ? true : state === 'CLOSED' ? false : null;
    const name = textOf(reference) ?? `#${String(written)}`;
    if (iid === null || name.toLowerCase() !== `${fullPath}#${iid}`.toLowerCase()) {
      // Labels of another project are nobody's states here.
      return { id: name, identifier: name, state: isOpen === null ? null : isOpen ? OPENED : CLOSED };
    }
    const labels = listOf(widgets)
      .flatMap((widget) => listOf(fieldsOf(fieldsOf(widget).labels).nodes))
      .flatMap((label) => textOf(fieldsOf(label).title) ?? []);
    const known = isOpen === null ? null : this.states.of(isOpen, labels).state;
    return { id: String(iid), identifier: identifierOf(iid), state: known };
  }
}

/** How GitLab says that it does not know a field. */
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

/** Of a hundred each: what is older than that is nothing for a prompt. */
const MAX_PAGES = 3;
const QUERY = Object.entries({ sort: 'desc', order_by: 'created_at', activity_filter: 'only_comments' });

/** Newest first as GitLab tells them, until enough of them come from people who are trusted. */
export async function readComments(iid: number, order: CommentsOrder): Promise<readonly Comment[]> {
  const { api, reading, trust } = order;
  const newestFirst: WrittenComment[] = [];
  for (let page = 1; page <= MAX_PAGES; page++) {
    const { items, next } = await readPage(api, reading, { segments: ['issues', iid, 'notes'], query: QUERY }, page);
    newestFirst.push(...(await written(items, order)));
    const trusted = newestFirst.filter((comment) => isTrustedWriter(comment, trust) !== false);
    if (next === null || trusted.length >= MAX_COMMENTS) break;
  }
  return trustedComments(newestFirst.reverse(), trust);
}

async function written(
  items: readonly unknown[],
  { members, reading, trust }: CommentsOrder,
): Promise<readonly WrittenComment[]> {
  // GitLab's own notes say who changed what: nothing that anybody wrote.
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
