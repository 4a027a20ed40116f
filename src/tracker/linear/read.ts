import type { Trust } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import { type Comment, type Issue, stateKey } from '../../domain/issue.js';
import { type Fields, fieldsOf, foundIn, textOf } from '../../domain/json.js';
import type { HttpReading } from '../http/tracker-http.js';
import { listed, type NormalisedList, type RawIssue, type Tried, tryNormalise } from '../normalise-issue.js';
import { readPages } from '../read-pages.js';
import { authorOf, trustedComments } from '../trust.js';
import { type LinearApi, NAME, nextCursor, nodesOf } from './api.js';
import { COMMENTS_QUERY, ISSUES_QUERY, PAGE } from './queries.js';
import type { LinearScope, ScopeReader } from './scope.js';

const FIRST_GUESS = 50;
const MIN_PAGE = 10;
/** Room for new issues in the page that is expected to hold them all. */
const SPARE = 5;

interface ReadOrder {
  readonly scope: LinearScope;
  readonly reading: HttpReading;
  readonly reader: Reader;
}

/** Made of each node when its page comes. */
interface Found {
  readonly id: string | null;
  readonly tried: Tried;
  readonly isCutOff: boolean;
  readonly isPutAway: boolean;
}

/**
 * Issues of the scope. What a page costs depends on how many issues it could hold: the first is
 * therefore only as large as the last list was, which makes the usual poll of a small board cheap.
 */
export class IssueReader {
  #expected = FIRST_GUESS;

  constructor(
    private readonly api: LinearApi,
    private readonly scopes: ScopeReader,
  ) {}

  /** What is no issue is told and skipped. */
  async byStates(states: readonly string[], order: ReadOrder): Promise<NormalisedList> {
    const wanted = new Map(states.map((state) => [stateKey(state), state.trim()]));
    const names = [...wanted.values()].map((name) => ({ name: { eqIgnoreCase: name } }));
    const first = Math.min(PAGE.issues, Math.max(MIN_PAGE, this.#expected));
    const found = await this.#read([{ state: { or: names } }], first, order);
    this.#expected = found.length + SPARE;
    return listed(found.filter((one) => one instanceof BatonError || wanted.has(stateKey(one.state))));
  }

  /** By id or identifier. What can be neither is no issue of Linear's. Throws where one that was told makes no sense. */
  async byRefs(refs: readonly string[], order: ReadOrder): Promise<readonly Issue[]> {
    const found = new Map<string, Issue>();
    const asked = [...new Set(refs.map((ref) => ref.trim()))].filter((ref) => isId(ref) || numbered(ref) !== null);
    for (let at = 0; at < asked.length; at += PAGE.ids) {
      const batch = asked.slice(at, at + PAGE.ids);
      const ids = batch.filter(isId);
      const either = [
        ...(ids.length === 0 ? [] : [{ id: { in: ids } }]),
        ...batch.flatMap((ref) => numbered(ref) ?? []),
      ];
      for (const one of await this.#read([{ or: either }], batch.length, order)) {
        if (one instanceof BatonError) throw one;
        found.set(one.id, one);
      }
    }
    return [...found.values()];
  }

  async #read(conditions: readonly Fields[], first: number, order: ReadOrder): Promise<readonly Tried[]> {
    const found = await this.#pages(conditions, { first, nested: PAGE.nested }, order);
    const cutOff = found.filter(isCutShort).map(({ id }) => id);
    const whole = new Map<string, Found>();
    for (let at = 0; at < cutOff.length; at += PAGE.deepIssues) {
      const ids = cutOff.slice(at, at + PAGE.deepIssues);
      const page = { first: ids.length, nested: PAGE.deep };
      for (const one of await this.#pages([{ id: { in: ids } }], page, order)) whole.set(one.id ?? '', one);
    }
    // One that was not there any more when it was read again has left the scope.
    const all = found.map((one) => (isCutShort(one) ? whole.get(one.id) : one));
    return all.filter((one) => one !== undefined && !one.isPutAway).map((one) => (one as Found).tried);
  }

  async #pages(
    conditions: readonly Fields[],
    { first, nested }: { readonly first: number; readonly nested: number },
    { scope, reading, reader }: ReadOrder,
  ): Promise<readonly Found[]> {
    const { project, team } = scope;
    const within = [
      ...(project === null ? [] : [{ project: { id: { eq: project.id } } }]),
      ...(team === null ? [] : [{ team: { id: { eq: team.id } } }]),
    ];
    const shown = {
      byProject: project !== null,
      byTeam: team !== null,
      ...(project === null ? {} : { project: { id: { eq: project.id } } }),
      ...(team === null ? {} : { team: { id: { eq: team.id } } }),
    };
    const isDeep = nested > PAGE.nested;
    return readPages<Found, string>({
      name: NAME,
      first: '',
      idOf: ({ id }) => id,
      read: async (after) => {
        const data = await this.api.ask(reading, {
          query: ISSUES_QUERY,
          variables: {
            ...shown,
            nested,
            filter: { and: [...within, ...conditions] },
            // More than expected: then the rest comes in full pages.
            first: after === '' || isDeep ? first : PAGE.issues,
            after: after === '' ? null : after,
          },
        });
        this.scopes.assertShown(scope, data);
        return {
          items: nodesOf(data, 'issues').map((node) => readNode(fieldsOf(node), reader)),
          next: nextCursor(data, 'issues'),
        };
      },
    });
  }
}

function isCutShort(found: Found): found is Found & { readonly id: string } {
  return found.isCutOff && found.id !== null;
}

function readNode(node: Fields, reader: Reader): Found {
  const tried = tryNormalise(nodeToIssue(node, reader));
  return { id: textOf(node.id), tried, isCutOff: isCutOff(node), isPutAway: isPutAway(node) };
}

/** Linear answers what is no UUID with an error for the whole question. */
function isId(ref: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(ref);
}

/** ENG-12: the 12th issue of the team ENG. */
function numbered(ref: string): Fields | null {
  const [, key, digits] = /^([A-Za-z][A-Za-z0-9_]{0,49})-(\d{1,9})$/.exec(ref) ?? [];
  if (key === undefined || digits === undefined) return null;
  return { team: { key: { eqIgnoreCase: key } }, number: { eq: Number(digits) } };
}

export interface Reader {
  readonly trust: Trust;
  /** Who an issue must be assigned to, and what to call them; `null`: anybody. */
  readonly assignee: { readonly wanted: string; readonly shownAs: string } | null;
}

/** An issue as `ISSUES_QUERY` brings it. */
function nodeToIssue(node: Fields, { trust, assignee }: Reader): RawIssue {
  const heldBack =
    unreadable(node) ?? (assignee && assignedElsewhere(node.assignee, assignee.wanted, assignee.shownAs));
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
    // 0 is how Linear writes "none".
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

/** In the archive or the trash: nobody sees it on the board any more. */
export function isPutAway({ archivedAt, trashed }: Fields): boolean {
  return textOf(archivedAt) !== null || trashed === true;
}

/** It has more labels or relations than were asked for. */
function isCutOff(node: Fields): boolean {
  return hasMore(node.labels) || hasMore(node.inverseRelations);
}

function hasMore(connection: unknown): boolean {
  return fieldsOf(fieldsOf(connection).pageInfo).hasNextPage === true;
}

/** What might be blocked, or lack a label, for all we can see. */
function unreadable(node: Fields): string | null {
  if (isCutOff(node)) return `has more than ${PAGE.deep} labels or relations, of which the rest cannot be read`;
  const isThere = Array.isArray(fieldsOf(node.labels).nodes) && Array.isArray(fieldsOf(node.inverseRelations).nodes);
  return isThere ? null : 'came from Linear without its labels or relations';
}

/** `inverseRelations` are those in which the other issue comes first: it blocks this one. */
function blocker({ type, issue }: Fields): Fields | null {
  if (textOf(type)?.trim().toLowerCase() !== 'blocks') return null;
  const other = fieldsOf(issue);
  // Nobody will finish it any more.
  if (isPutAway(other)) return null;
  const { id, identifier, state } = other;
  return { id, identifier, state: fieldsOf(state).name };
}

/** The newest comments of those who are trusted, oldest first. */
export async function readComments(
  api: LinearApi,
  reading: HttpReading,
  issueId: string,
  trust: Trust,
): Promise<readonly Comment[]> {
  const data = await api.ask(reading, { query: COMMENTS_QUERY, variables: { id: issueId }, mayRefuse: true });
  const issue = fieldsOf(data.issue);
  if (textOf(issue.id) === null) {
    throw new BatonError(
      'tracker_response',
      `Linear answered without issue ${issueId}, whose comments were asked for.`,
    );
  }
  const nodes = [...nodesOf(issue, 'one'), ...nodesOf(issue, 'other')].map(fieldsOf);
  const unique = [...new Map(nodes.map((node) => [node.id, node])).values()];
  const written = unique
    .map((node) => ({ node, writer: writerOf({ user: node.user, external: node.externalUser, bot: node.botActor }) }))
    .filter(({ writer }) => isTrusted(writer, trust))
    .sort((one, other) => timeOf(one.node) - timeOf(other.node))
    .map(({ node, writer }) => ({
      login: writer.login,
      isMember: writer.isMember,
      body: textOf(node.body) ?? '',
      created_at: textOf(node.createdAt),
    }));
  // Judged above, by every name that a writer has.
  return trustedComments(written, 'anyone');
}

function timeOf({ createdAt }: Fields): number {
  const ms = Date.parse(textOf(createdAt) ?? '');
  return Number.isNaN(ms) ? 0 : ms;
}

/** Somebody who wrote something in Linear. */
interface Writer {
  readonly login: string | null;
  /** What nobody else in the workspace is called; nothing for those who have no account there. Asked for only where trust is a list. */
  names(): readonly string[];
  readonly isMember: boolean;
}

interface WriterFields {
  readonly user: unknown;
  /** Somebody from outside, known by an integration. */
  readonly external: unknown;
  readonly bot: unknown;
}

/**
 * A member has an account that is neither suspended, nor a guest's, nor an application's. Who wrote through Slack, by mail or in
 * another tracker has none. A full name tells nobody apart: people choose it, and two may have the same.
 */
function writerOf({ user, external, bot }: WriterFields): Writer {
  const { id, displayName, email, active, guest, app } = fieldsOf(user);
  const outside = textOf(fieldsOf(external).name);
  const robot = textOf(fieldsOf(bot).userDisplayName) ?? textOf(fieldsOf(bot).name);
  if (textOf(id) === null) return { login: outside ?? robot, names: () => [], isMember: false };
  // What came through an integration is not the word of the member under whose account it was filed.
  const isOwnWord = !isThere(external) && !isThere(bot);
  return {
    login: isOwnWord ? textOf(displayName) : (outside ?? robot),
    names: () => (isOwnWord ? [displayName, email, id].flatMap((name) => textOf(name) ?? []) : []),
    isMember: isOwnWord && active === true && guest === false && app !== true,
  };
}

function isThere(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

function isTrusted(writer: Writer, trust: Trust): boolean {
  if (trust === 'anyone') return true;
  if (trust === 'members') return writer.isMember;
  // People write names as they mention each other: @ann.
  const trusted = new Set(trust.map((name) => name.trim().replace(/^@/, '').toLowerCase()));
  return writer.names().some((name) => trusted.has(name.toLowerCase()));
}

function linearAuthor(writer: Writer, trust: Trust): Issue['author'] {
  // Judged here by every name: what is left to say is yes or no.
  return authorOf({ login: writer.login, isMember: writer.isMember }, isTrusted(writer, trust) ? 'anyone' : []);
}

/** Why an issue is not for us, going on from "it …"; `null`: it is. `wanted`: an id, a mail address or a name. */
function assignedElsewhere(assignee: unknown, wanted: string, shownAs: string): string | null {
  const { id, displayName, email, name } = fieldsOf(assignee);
  const names = [id, displayName, email, name].flatMap((each) => textOf(each)?.toLowerCase() ?? []);
  if (names.includes(wanted.toLowerCase())) return null;
  const who = textOf(displayName) ?? textOf(name) ?? (textOf(id) === null ? 'nobody' : 'somebody else');
  return `is assigned to ${who}, not to ${shownAs}`;
}
