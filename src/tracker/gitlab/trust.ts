import { hash } from 'node:crypto';
import { setImmediate as nextTick } from 'node:timers/promises';
import { BoundedMap } from '../../domain/bounded-map.js';
import { labelKey } from '../../domain/issue.js';
import { type Fields, fieldsOf, textOf, timeOf } from '../../domain/json.js';
import { type ForgeIssue, hasLabels } from '../forge-issue.js';
import type { HttpReading } from '../http/tracker-http.js';
import { inParallel } from '../read-pages.js';
import { isTrustedWriter } from '../trust.js';
import {
  approvalLabels,
  approvalOf,
  type Edit,
  type EditRules,
  TEXT_PARTS,
  type TextPart,
  untrustedEditAfter,
  untrustedLastEdit,
} from '../untrusted-edit.js';
import { type GitlabApi, readList, readPage } from './api.js';
import { usernameOf } from './issue.js';

/** Edits and labels of an issue, as far as they matter for trust. */
interface EditHistory {
  /** The newest first. */
  readonly edits: readonly Edit[];
  /** When and by whom a label was last added, by `labelKey`. */
  readonly labelled: ReadonlyMap<string, Labelling>;
}

interface Labelling {
  readonly by: string | null;
  readonly atMs: number;
}

/** `unreadable`: too long. `late`: the issue was changed just now, and GitLab may not have noted by whom. `later`: another poll reads it. */
export type HistoryResult = EditHistory | 'unreadable' | 'late' | 'later';

export interface GitlabRules extends EditRules {
  readonly isMember: IsMember;
}

interface HistoryOrder {
  readonly reading: HttpReading;
  readonly rules: GitlabRules;
  /** How many histories may be read. */
  readonly limit: number;
}

/** An issue with the history of one version. */
interface KnownVersion {
  readonly version: Version;
  readonly history: EditHistory;
  /** It was read so long after the change that no note about it can be missing. */
  readonly isSettled: boolean;
}

interface UnreadIssue {
  readonly number: number;
  readonly issue: ForgeIssue;
  readonly version: Version;
  /** An earlier version that can be compared with this one. */
  readonly last: KnownVersion | undefined;
  /** GitLab may not have noted yet who wrote its text. */
  readonly isUncertain: boolean;
}

const AT_ONCE = 4;
/** These take some milliseconds; then agents and timers have their turn. */
const PER_TICK = 500;
const MAX_REMEMBERED = 20_000;
const NO_EDITS: EditHistory = { edits: [], labelled: new Map() };
/** Of a hundred notes each. A longer history is not trusted. */
const MAX_PAGES = 10;
/** The longest time between a change and the note about it, with different clocks. */
const YOUNG_FOR_MS = 10_000;
const SETTLED_AFTER_MS = 60_000;

const RENAME = /^changed title from/;
/** A checked box can come with any other change of the text, and GitLab notes only the box. */
const EDIT = /^(?:changed the description|marked the (?:checklist item|task) )/;

/**
 * The histories of issues, from the notes that GitLab writes itself. They are read once per version of an issue, and again while it is so young that a note may be
 * missing. The last history holds on as long as the text is the same: a comment must not end a run. An issue that was never edited is remembered without a request.
 */
export class EditHistories {
  readonly #versions = new BoundedMap<number, KnownVersion>(MAX_REMEMBERED);

  constructor(private readonly api: GitlabApi) {}

  /** By number. */
  async read(issues: readonly ForgeIssue[], order: HistoryOrder): Promise<ReadonlyMap<number, HistoryResult>> {
    const results = new Map<number, HistoryResult>();
    const unread: UnreadIssue[] = [];
    for (const [n, issue] of issues.entries()) {
      if (n % PER_TICK === PER_TICK - 1) await nextTick();
      const { number } = issue;
      if (number === null) continue;
      const known = this.#versions.get(number);
      if (isAsWritten(issue, order.rules)) {
        results.set(number, NO_EDITS);
        if (known?.version.updatedAt !== issue.updatedAt)
          this.#versions.set(number, { version: versionOf(issue, order.rules), history: NO_EDITS, isSettled: true });
        continue;
      }
      const version = versionOf(issue, order.rules);
      const isDeepEnough = known?.version.depth === version.depth;
      const isSame = known !== undefined && isSameText(known.version, version);
      // A history of another depth proves nothing about another text: a note that it did not reach would count as new.
      const last = isDeepEnough || isSame ? known : undefined;
      const isUncertain = ageMs(issue) < YOUNG_FOR_MS && isOpenToStrangers(issue, order.rules);
      const isKnown = isSame && isDeepEnough;
      if (isKnown && known.isSettled && known.version.updatedAt === version.updatedAt)
        results.set(number, known.history);
      else if (last === undefined && isUncertain) results.set(number, 'late');
      else if (unread.length < order.limit) unread.push({ number, issue, version, last, isUncertain });
      else results.set(number, isKnown ? known.history : 'later');
    }
    await inParallel(unread, AT_ONCE, async (each) => {
      results.set(each.number, await this.#readVersion(each, order));
    });
    return results;
  }

  async #readVersion(
    { number, issue, version, last, isUncertain }: UnreadIssue,
    order: HistoryOrder,
  ): Promise<HistoryResult> {
    const history = await this.#readHistory(number, issue, order);
    if (history === 'unreadable') return history;
    if (isUncertain && !(last && isExplained(version, history, last))) return 'late';
    this.#versions.set(number, { version, history, isSettled: ageMs(issue) >= SETTLED_AFTER_MS });
    return history;
  }

  async #readHistory(
    number: number,
    issue: ForgeIssue,
    { reading, rules }: HistoryOrder,
  ): Promise<EditHistory | 'unreadable'> {
    if (rules.trust !== 'anyone') {
      const hasBoth = (edits: readonly Edit[]) => TEXT_PARTS.every((each) => edits.some(({ part }) => part === each));
      const edits = await this.#readEdits(number, reading, hasBoth);
      return edits === null ? 'unreadable' : { edits, labelled: new Map() };
    }
    const labelled = await this.#readLabelled(number, reading);
    if (isUntouched(issue)) return { edits: [], labelled };
    const { atMs } = approvalOf(issue, (label) => labelled.get(label)?.atMs, rules);
    const edits = await this.#readEdits(number, reading, (_, oldestMs) => oldestMs < atMs);
    return edits === null ? 'unreadable' : { edits, labelled };
  }

  /** Newest first, until `isEnough` returns true; null when there are too many. */
  async #readEdits(
    number: number,
    reading: HttpReading,
    isEnough: (edits: readonly Edit[], oldestMs: number) => boolean,
  ): Promise<readonly Edit[] | null> {
    const edits: Edit[] = [];
    const query = Object.entries({ sort: 'desc', order_by: 'created_at', activity_filter: 'only_activity' });
    for (let page = 1; page <= MAX_PAGES; page++) {
      const { items, next } = await readPage(
        this.api,
        reading,
        { segments: ['issues', number, 'notes'], query, read: fieldsOf },
        page,
      );
      let oldestMs = Number.POSITIVE_INFINITY;
      for (const { system, body, author, created_at: at } of items.map(fieldsOf)) {
        const atMs = timeOf(at);
        if (system !== true) continue;
        if (atMs === null) return null;
        oldestMs = Math.min(oldestMs, atMs);
        const text = textOf(body) ?? '';
        const part = RENAME.test(text) ? 'title' : EDIT.test(text) ? 'description' : null;
        if (part !== null) edits.push({ part, by: usernameOf(author), atMs });
      }
      if (next === null || isEnough(edits, oldestMs)) return edits;
    }
    return null;
  }

  async #readLabelled(number: number, reading: HttpReading): Promise<EditHistory['labelled']> {
    const events = await readList(this.api, reading, {
      segments: ['issues', number, 'resource_label_events'],
      read: fieldsOf,
      idOf: ({ id }) => (Number.isSafeInteger(id) ? String(id) : null),
    });
    const labelled = new Map<string, Labelling>();
    for (const { action, label, user, created_at: at } of events) {
      const name = textOf(fieldsOf(label).name);
      const atMs = timeOf(at);
      if (action !== 'add' || name === null || atMs === null) continue;
      const before = labelled.get(labelKey(name));
      if (before === undefined || atMs >= before.atMs) labelled.set(labelKey(name), { by: usernameOf(user), atMs });
    }
    return labelled;
  }
}

/** An issue without a date counts as old: its notes are read whenever it changes. */
function ageMs({ updatedAt }: ForgeIssue): number {
  const atMs = timeOf(updatedAt);
  return atMs === null ? Number.POSITIVE_INFINITY : Date.now() - atMs;
}

/**
 * On GitLab members, the author and the assignees can edit an issue. An editor may be none of them any more, so the history decides. Under `anyone` a member approves
 * an issue by a label; but guests can label an issue as they write it, and strangers can edit it after that.
 */
export function needsHistory(issue: ForgeIssue, rules: GitlabRules): boolean {
  const { trust, requiredLabels, isMember } = rules;
  // Without its labels it cannot start, so its history does not matter.
  if (!hasLabels(issue, requiredLabels)) return false;
  if (trust === 'members') return isMember(issue.author);
  if (trust === 'anyone') return approvalLabels(issue, rules).length > 0;
  return isTrustedWriter({ login: issue.author, isMember: null }, trust) === true;
}

/** An untrusted person can edit it right now. A list of logins may leave out members. */
function isOpenToStrangers({ author, assignees }: ForgeIssue, { trust, isMember }: GitlabRules): boolean {
  return (trust !== 'members' && trust !== 'anyone') || [author, ...assignees].some((login) => !isMember(login));
}

/** The reason to hold an issue back, going on from "it …"; `null`: its text is trusted. */
export function untrustedEdit(issue: ForgeIssue, history: EditHistory, rules: GitlabRules): string | null {
  const { trust, isMember } = rules;
  if (!needsHistory(issue, rules)) return null;
  if (trust !== 'anyone') {
    const isTrusted = (by: string | null) => isTrustedWriter({ login: by, isMember: isMember(by) }, trust) === true;
    return untrustedLastEdit(history.edits, trust, isTrusted);
  }
  const { edits, labelled } = history;
  // A label without an event was added by the author.
  const unapproved = approvalLabels(issue, rules).find((label) => {
    const labelling = labelled.get(labelKey(label));
    return !isMember(labelling === undefined ? issue.author : labelling.by);
  });
  if (unapproved !== undefined) return `carries the label "${unapproved}", which no member has put on it`;
  const approval = approvalOf(issue, (label) => labelled.get(label)?.atMs, rules);
  return untrustedEditAfter(approval, edits, (by) => !isMember(by));
}

/** Only its author wrote it, and may approve it where that is needed: no history could say more. */
function isAsWritten(issue: ForgeIssue, { trust, isMember }: GitlabRules): boolean {
  return isUntouched(issue) && (trust !== 'anyone' || isMember(issue.author));
}

/** Every change moves the time of the last one. */
function isUntouched({ createdAt, updatedAt }: ForgeIssue): boolean {
  return createdAt !== null && createdAt === updatedAt;
}

/** A version of an issue, with digests of its text. */
interface Version {
  readonly updatedAt: string | null;
  readonly title: string;
  readonly description: string;
  /** How far back its history must reach. */
  readonly depth: string;
}

function versionOf(issue: ForgeIssue, rules: GitlabRules): Version {
  const title = new Digest(issue.title);
  const description = new Digest(issue.description);
  return {
    updatedAt: issue.updatedAt,
    get title() {
      return title.text;
    },
    get description() {
      return description.text;
    },
    depth: rules.trust === 'anyone' ? JSON.stringify(approvalLabels(issue, rules)) : '',
  };
}

/** Computed when it is first compared: most issues of a large board never are. */
class Digest {
  #digest: string | null = null;
  #value: unknown;

  constructor(value: unknown) {
    this.#value = value;
  }

  get text(): string {
    this.#digest ??= hash('sha256', JSON.stringify(this.#value ?? null), 'base64');
    this.#value = null;
    return this.#digest;
  }
}

function isSameText(one: Version, other: Version): boolean {
  return TEXT_PARTS.every((part) => one[part] === other[part]);
}

/** There is a new note for every part of the text that changed since then. */
function isExplained(now: Version, history: EditHistory, then: KnownVersion): boolean {
  return TEXT_PARTS.every(
    (part) => now[part] === then.version[part] || newestMs(history, part) > newestMs(then.history, part),
  );
}

function newestMs({ edits }: EditHistory, wanted: TextPart): number {
  return edits.find(({ part }) => part === wanted)?.atMs ?? 0;
}

/** Planner, the lowest role that may change the issues of others. Guests only write issues, like anyone. */
export const MEMBER_LEVEL = 15;
const GOOD_FOR_MS = 5 * 60_000;

export type IsMember = (login: string | null) => boolean;

/**
 * The members of the project, inherited and invited ones too. The list is read again after five minutes, and for a login that was not looked up since it was read: it
 * may be a new member.
 */
export class Members {
  #members: ReadonlySet<string> = new Set();
  #strangers = new Set<string>();
  #readAtMs: number | null = null;

  constructor(
    private readonly api: GitlabApi,
    private readonly nowMs: () => number,
  ) {}

  /** Looks up these users. */
  async among(people: Iterable<string | null>, reading: HttpReading): Promise<IsMember> {
    const lookedUp = new Set([...people].flatMap((login) => login?.toLowerCase() ?? []));
    if (lookedUp.size > 0 && (this.#isOld() || this.#hasNewLogin(lookedUp))) await this.#read(lookedUp, reading);
    const members = this.#members;
    return (login) => login !== null && members.has(login.toLowerCase());
  }

  #isOld(): boolean {
    return this.#readAtMs === null || this.nowMs() - this.#readAtMs >= GOOD_FOR_MS;
  }

  #hasNewLogin(lookedUp: ReadonlySet<string>): boolean {
    return [...lookedUp].some((login) => !this.#members.has(login) && !this.#strangers.has(login));
  }

  async #read(lookedUp: ReadonlySet<string>, reading: HttpReading): Promise<void> {
    const found = await readList(this.api, reading, {
      segments: ['members', 'all'],
      read: fieldsOf,
      idOf: ({ id }) => (Number.isSafeInteger(id) ? String(id) : null),
    });
    this.#members = new Set(found.flatMap((fields) => memberIn(fields) ?? []));
    this.#strangers = new Set(
      [...(this.#isOld() ? [] : this.#strangers), ...lookedUp].filter((login) => !this.#members.has(login)),
    );
    this.#readAtMs = this.nowMs();
  }
}

/** `null`: no member that counts. */
function memberIn(fields: Fields): string | null {
  const { access_level: level, state, membership_state: membership } = fields;
  const isActive = state === 'active' && (membership === undefined || membership === null || membership === 'active');
  const isHighEnough = typeof level === 'number' && level >= MEMBER_LEVEL;
  return isActive && isHighEnough ? (usernameOf(fields)?.toLowerCase() ?? null) : null;
}
