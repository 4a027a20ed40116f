import type { Trust } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import { type Comment, type Issue, stateKey } from '../../domain/issue.js';
import { type Fields, fieldsOf, foundIn, textOf } from '../../domain/json.js';
import type { HttpReading } from '../http/tracker-http.js';
import {
  collectIssues,
  type NormalisedList,
  type NormaliseResult,
  type RawIssue,
  tryNormalise,
} from '../normalise-issue.js';
import { readPages } from '../read-pages.js';
import { authorOf, trustedComments } from '../trust.js';
import { type LinearApi, NAME, nextCursor, nodesOf } from './api.js';
import { COMMENTS_QUERY, ISSUES_QUERY, PAGE } from './queries.js';
import type { LinearScope, ScopeCache } from './scope.js';

const FIRST_PAGE = 50;
const MIN_PAGE = 10;
/** Room for new issues in a page that should hold the whole list. */
const SPARE = 5;

interface ReadOptions {
  readonly scope: LinearScope;
  readonly reading: HttpReading;
  readonly context: IssueContext;
  /** Pages that come again as they were are not converted again. */
  readonly isRepeated?: boolean;
}

/** What the settings say about the author and the assignee of an issue. */
export interface IssueContext {
  readonly trust: Trust;
  /** The required assignee and its display name; null when any is accepted. */
  readonly assignee: { readonly wanted: string; readonly shownAs: string } | null;
}

/** One node of a page, normalised as soon as the page arrives. */
interface IssueNode {
  readonly id: string | null;
  readonly tried: NormaliseResult;
  /** It has more labels or relations than the query asked for. */
  readonly isTruncated: boolean;
  readonly isPutAway: boolean;
}

/**
 * Reads the issues of a scope. Linear charges a page by the issues that it could hold, so the first page is only as large as
 * the last list was: the usual poll of a small board stays cheap.
 */
export class IssueReader {
  #expectedIssues = FIRST_PAGE;

  constructor(
    private readonly api: LinearApi,
    private readonly scopes: ScopeCache,
  ) {}

  /** A node that is not an issue is reported and skipped. */
  async byStates(states: readonly string[], options: ReadOptions): Promise<NormalisedList> {
    const wanted = new Map(states.map((state) => [stateKey(state), state.trim()]));
    const names = [...wanted.values()].map((name) => ({ name: { eqIgnoreCase: name } }));
    const first = Math.min(PAGE.issues, Math.max(MIN_PAGE, this.#expectedIssues));
    const tried = await this.#read([{ state: { or: names } }], first, { ...options, isRepeated: true });
    this.#expectedIssues = tried.length + SPARE;
    return collectIssues(tried.filter((one) => one instanceof BatonError || wanted.has(stateKey(one.state))));
  }

  /** Takes ids and identifiers; other texts cannot be issues of Linear. Throws when a node is not an issue. */
  async byIds(written: readonly string[], options: ReadOptions): Promise<readonly Issue[]> {
    const issues = new Map<string, Issue>();
    const refs = [...new Set(written.map((ref) => ref.trim()))].filter((ref) => isUuid(ref) || byIdentifier(ref));
    for (let at = 0; at < refs.length; at += PAGE.ids) {
      const batch = refs.slice(at, at + PAGE.ids);
      const ids = batch.filter(isUuid);
      const conditions = [
        ...(ids.length === 0 ? [] : [{ id: { in: ids } }]),
        ...batch.flatMap((ref) => byIdentifier(ref) ?? []),
      ];
      for (const one of await this.#read([{ or: conditions }], batch.length, options)) {
        if (one instanceof BatonError) throw one;
        issues.set(one.id, one);
      }
    }
    return [...issues.values()];
  }

  async #read(conditions: readonly Fields[], first: number, options: ReadOptions): Promise<readonly NormaliseResult[]> {
    const nodes = await this.#readPages(conditions, { first, nested: PAGE.nested }, options);
    const truncated = nodes.filter(isTruncatedIssue).map(({ id }) => id);
    const complete = new Map<string, IssueNode>();
    for (let at = 0; at < truncated.length; at += PAGE.deepIssues) {
      const ids = truncated.slice(at, at + PAGE.deepIssues);
      const page = { first: ids.length, nested: PAGE.deep };
      for (const one of await this.#readPages([{ id: { in: ids } }], page, options)) complete.set(one.id ?? '', one);
    }
    // An issue that is missing from the second read has left the scope.
    const all = nodes.flatMap((node) => (isTruncatedIssue(node) ? (complete.get(node.id) ?? []) : node));
    return all.filter(({ isPutAway }) => !isPutAway).map(({ tried }) => tried);
  }

  async #readPages(
    conditions: readonly Fields[],
    { first, nested }: { readonly first: number; readonly nested: number },
    { scope, reading, context, isRepeated = false }: ReadOptions,
  ): Promise<readonly IssueNode[]> {
    const { project, team } = scope;
    const within = [
      ...(project === null ? [] : [{ project: { id: { eq: project.id } } }]),
      ...(team === null ? [] : [{ team: { id: { eq: team.id } } }]),
    ];
    const scopeVariables = {
      byProject: project !== null,
      byTeam: team !== null,
      ...(project === null ? {} : { project: { id: { eq: project.id } } }),
      ...(team === null ? {} : { team: { id: { eq: team.id } } }),
    };
    const isDeep = nested > PAGE.nested;
    return readPages<IssueNode, string>({
      name: NAME,
      first: '',
      idOf: ({ id }) => id,
      read: async (after) => {
        const data = await this.api.query(reading, {
          query: ISSUES_QUERY,
          keep: {
            isConditional: isRepeated,
            digest: (answer) => withIssueNodes(answer, context),
            digestBy: JSON.stringify(context),
          },
          variables: {
            ...scopeVariables,
            nested,
            filter: { and: [...within, ...conditions] },
            // The list is longer than expected: read the rest in full pages.
            first: after === '' || isDeep ? first : PAGE.issues,
            after: after === '' ? null : after,
          },
        });
        this.scopes.requireVisible(scope, data);
        return { items: nodesOf(data, 'issues') as readonly IssueNode[], next: nextCursor(data, 'issues') };
      },
    });
  }
}

/** Linear rejects a whole query for one id that is not a UUID. */
function isUuid(ref: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(ref);
}

/** The filter for an identifier: ENG-12 is number 12 of the team ENG. `null` for other texts. */
function byIdentifier(ref: string): Fields | null {
  const [, key, digits] = /^([A-Za-z][A-Za-z0-9_]{0,49})-(\d{1,9})$/.exec(ref) ?? [];
  if (key === undefined || digits === undefined) return null;
  return { team: { key: { eqIgnoreCase: key } }, number: { eq: Number(digits) } };
}

function isTruncatedIssue(node: IssueNode): node is IssueNode & { readonly id: string } {
  return node.isTruncated && node.id !== null;
}

/** Converts the nodes of a page. An answer without them stays as it is; `nodesOf` rejects it. */
function withIssueNodes(answer: unknown, context: IssueContext): unknown {
  const { data, ...rest } = fieldsOf(answer);
  const issues = fieldsOf(fieldsOf(data).issues);
  if (!Array.isArray(issues.nodes)) return answer;
  const nodes = issues.nodes.map((node) => issueNode(fieldsOf(node), context));
  return { ...rest, data: { ...fieldsOf(data), issues: { ...issues, nodes } } };
}

function issueNode(node: Fields, context: IssueContext): IssueNode {
  const tried = tryNormalise(toIssue(node, context));
  return { id: textOf(node.id), tried, isTruncated: isTruncated(node), isPutAway: isPutAway(node) };
}

/** A node of `ISSUES_QUERY` as an issue, unchecked. */
function toIssue(node: Fields, { trust, assignee }: IssueContext): RawIssue {
  const heldBack =
    incompleteReason(node) ?? (assignee && assigneeReason(node.assignee, assignee.wanted, assignee.shownAs));
  const writer = writerOf({
    user: node.creator,
    external: node.externalUserCreator ?? node.asksExternalUserRequester,
    bot: node.botActor,
  });
  return {
    id: node.id,
    identifier: node.identifier,
    title: node.title,
    description: node.description,
    // Linear writes 0 for "no priority".
    priority: node.priority === 0 ? null : node.priority,
    state: fieldsOf(node.state).name,
    branch_name: node.branchName,
    url: node.url,
    assignee_id: fieldsOf(node.assignee).id,
    author: linearAuthor(writer, trust),
    labels: foundIn(fieldsOf(node.labels).nodes, (label) => textOf(fieldsOf(label).name)),
    blocked_by: foundIn(fieldsOf(node.inverseRelations).nodes, (relation) => blocker(fieldsOf(relation))),
    dispatchable: heldBack === null,
    held_back: heldBack,
    created_at: node.createdAt,
    updated_at: node.updatedAt,
  };
}

/** In the archive or the trash, so that the board does not show it. */
export function isPutAway({ archivedAt, trashed }: Fields): boolean {
  return textOf(archivedAt) !== null || trashed === true;
}

function isTruncated(node: Fields): boolean {
  return hasMore(node.labels) || hasMore(node.inverseRelations);
}

function hasMore(connection: unknown): boolean {
  return fieldsOf(fieldsOf(connection).pageInfo).hasNextPage === true;
}

/** Why labels or blockers of an issue may be missing; `null` when all are known. */
function incompleteReason(node: Fields): string | null {
  if (isTruncated(node)) return `has more than ${PAGE.deep} labels or relations, and the others cannot be read`;
  const isComplete = Array.isArray(fieldsOf(node.labels).nodes) && Array.isArray(fieldsOf(node.inverseRelations).nodes);
  return isComplete ? null : 'came from Linear without its labels or relations';
}

/** Why an issue is not ours, continuing "it …"; `null` when it is. `wanted` is an id, an e-mail address or a name. */
function assigneeReason(assignee: unknown, wanted: string, shownAs: string): string | null {
  const { id, displayName, email, name } = fieldsOf(assignee);
  const names = [id, displayName, email, name].flatMap((each) => textOf(each)?.toLowerCase() ?? []);
  if (names.includes(wanted.toLowerCase())) return null;
  const actual = textOf(displayName) ?? textOf(name) ?? (textOf(id) === null ? 'nobody' : 'somebody else');
  return `is assigned to ${actual}, not to ${shownAs}`;
}

/** In `inverseRelations` the other issue comes first: it blocks this one. */
function blocker({ type, issue }: Fields): Fields | null {
  if (textOf(type)?.trim().toLowerCase() !== 'blocks') return null;
  const other = fieldsOf(issue);
  // An archived or deleted blocker will never be finished.
  if (isPutAway(other)) return null;
  const { id, identifier, state } = other;
  return { id, identifier, state: fieldsOf(state).name };
}

/** The newest comments of trusted writers, oldest first. */
export async function readComments(
  api: LinearApi,
  reading: HttpReading,
  issueId: string,
  trust: Trust,
): Promise<readonly Comment[]> {
  const data = await api.query(reading, { query: COMMENTS_QUERY, variables: { id: issueId }, mayRefuse: true });
  const issue = fieldsOf(data.issue);
  if (textOf(issue.id) === null)
    throw new BatonError('tracker_response', `Linear answered a query for comments without issue ${issueId}.`);
  const nodes = [...nodesOf(issue, 'one'), ...nodesOf(issue, 'other')].map(fieldsOf);
  const unique = [...new Map(nodes.map((node) => [node.id, node])).values()];
  const written = unique
    .map((node) => ({ node, writer: writerOf({ user: node.user, external: node.externalUser, bot: node.botActor }) }))
    .filter(({ writer }) => isTrusted(writer, trust))
    .sort((one, other) => createdAtMs(one.node) - createdAtMs(other.node))
    .map(({ node, writer }) => ({
      login: writer.login,
      isMember: writer.isMember,
      body: textOf(node.body) ?? '',
      created_at: textOf(node.createdAt),
    }));
  // Trust is already decided here, by all names of a writer.
  return trustedComments(written, 'anyone');
}

function createdAtMs({ createdAt }: Fields): number {
  const ms = Date.parse(textOf(createdAt) ?? '');
  return Number.isNaN(ms) ? 0 : ms;
}

/** The author of an issue or a comment. */
interface Writer {
  readonly login: string | null;
  /** The names that are unique in the workspace; empty without an account there. Needed only when trust is a list. */
  names(): readonly string[];
  readonly isMember: boolean;
}

interface WriterFields {
  readonly user: unknown;
  /** A person outside the workspace, known by an integration. */
  readonly external: unknown;
  readonly bot: unknown;
}

/**
 * A member has an active account that belongs neither to a guest nor to an application. Text that came through Slack, by mail
 * or from another tracker has no member as its writer. Full names are not unique identifiers: users choose them freely.
 */
function writerOf({ user, external, bot }: WriterFields): Writer {
  const { id, displayName, email, active, guest, app } = fieldsOf(user);
  const outsider = textOf(fieldsOf(external).name);
  const botName = textOf(fieldsOf(bot).userDisplayName) ?? textOf(fieldsOf(bot).name);
  if (textOf(id) === null) return { login: outsider ?? botName, names: () => [], isMember: false };
  // An integration may file text under the account of a member, who did not write it.
  const isOwnText = !isObject(external) && !isObject(bot);
  return {
    login: isOwnText ? textOf(displayName) : (outsider ?? botName),
    names: () => (isOwnText ? [displayName, email, id].flatMap((name) => textOf(name) ?? []) : []),
    isMember: isOwnText && active === true && guest === false && app !== true,
  };
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

function isTrusted(writer: Writer, trust: Trust): boolean {
  if (trust === 'anyone') return true;
  if (trust === 'members') return writer.isMember;
  // Names may be written as mentions: @ann.
  const trusted = new Set(trust.map((name) => name.trim().replace(/^@/, '').toLowerCase()));
  return writer.names().some((name) => trusted.has(name.toLowerCase()));
}

function linearAuthor(writer: Writer, trust: Trust): Issue['author'] {
  // Trust is decided here, by all names; the list only carries the result.
  return authorOf({ login: writer.login, isMember: writer.isMember }, isTrusted(writer, trust) ? 'anyone' : []);
}
