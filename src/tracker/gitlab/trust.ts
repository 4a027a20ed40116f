import { hash } from 'node:crypto';
import { setImmediate as othersTurn } from 'node:timers/promises';
import { BoundedMap } from '../../domain/bounded-map.js';
import type { Trust } from '../../domain/config.js';
import { labelKey } from '../../domain/issue.js';
import { type Fields, fieldsOf, textOf, timeOf } from '../../domain/json.js';
import type { HttpReading } from '../http/tracker-http.js';
import { inParallel } from '../read-pages.js';
import { isTrustedWriter } from '../trust.js';
import { type GitlabApi, readList, readPage } from './api.js';
import { type GitlabIssue, hasLabels, usernameOf } from './issue.js';

/** `unreadable`: nobody can tell. `late`: it was changed just now, and GitLab notes by whom only after that. `later`: its turn comes with another poll. */
export type HistoryFound = ChangeHistory | 'unreadable' | 'late' | 'later';

interface HistoryOrder {
  readonly reading: HttpReading;
  readonly rules: Rules;
  /** How many issues may be asked about that nobody asked about before. */
  readonly limit: number;
}

interface Kept {
  readonly version: Version;
  readonly history: ChangeHistory;
  /** It was read so long after the change that no note about that could still be on its way. */
  readonly isSettled: boolean;
}

interface Asked {
  readonly iid: number;
  readonly issue: GitlabIssue;
  readonly version: Version;
  /** What is comparable to it. */
  readonly kept: Kept | undefined;
  /** Its text may be somebody's about whom there is no note yet. */
  readonly isDoubtful: boolean;
}

const AT_ONCE = 4;
/** So many take some milliseconds; then agents and timers have their turn. */
const LOOKED_AT_AT_ONCE = 500;
const MAX_REMEMBERED = 20_000;
const NOTHING: ChangeHistory = { changes: [], labelled: new Map() };
/** Of a hundred notes each. Whoever writes more than that hides something. */
const MAX_PAGES = 10;
/** As long as a change and the note about it can be apart, clocks included. */
const YOUNG_FOR_MS = 10_000;
const SETTLED_AFTER_MS = 60_000;

const RENAME = /^changed title from/;
/** Whoever ticks a box can change all of the text with it, and GitLab notes the box only. */
const EDIT = /^(?:changed the description|marked the (?:checklist item|task) )/;

/**
 * Who changed which issue, from the notes that GitLab writes by itself. Asked once per version of an issue, and again while that is so young that a note may still be
 * on its way. What was found once holds on as long as the text is the same: a run is not ended because somebody commented. So an issue that is still as it was
 * written is kept, too, without a question.
 */
export class ChangeHistories {
  readonly #kept = new BoundedMap<number, Kept>(MAX_REMEMBERED);

  constructor(private readonly api: GitlabApi) {}

  /** By number. */
  async read(issues: readonly GitlabIssue[], order: HistoryOrder): Promise<ReadonlyMap<number, HistoryFound>> {
    const found = new Map<number, HistoryFound>();
    const asked: Asked[] = [];
    for (const [n, issue] of issues.entries()) {
      if (n % LOOKED_AT_AT_ONCE === LOOKED_AT_AT_ONCE - 1) await othersTurn();
      const { iid } = issue;
      if (iid === null) continue;
      const last = this.#kept.get(iid);
      if (isAsWritten(issue, order.rules)) {
        found.set(iid, NOTHING);
        if (last?.version.updatedAt !== issue.updatedAt)
          this.#kept.set(iid, { version: versionOf(issue, order.rules), history: NOTHING, isSettled: true });
        continue;
      }
      const version = versionOf(issue, order.rules);
      const isDeepEnough = last?.version.depth === version.depth;
      const isSame = last !== undefined && isSameText(last.version, version);
      // Of another text a history of another depth proves nothing: a note that it did not reach back to would pass for a new one.
      const kept = isDeepEnough || isSame ? last : undefined;
      const isDoubtful = ageMs(issue) < YOUNG_FOR_MS && isOpenToStrangers(issue, order.rules);
      const isKnown = isSame && isDeepEnough;
      if (isKnown && last.isSettled && last.version.updatedAt === version.updatedAt) found.set(iid, last.history);
      else if (kept === undefined && isDoubtful) found.set(iid, 'late');
      else if (asked.length < order.limit) asked.push({ iid, issue, version, kept, isDoubtful });
      else found.set(iid, isKnown ? last.history : 'later');
    }
    await inParallel(asked, AT_ONCE, async (each) => {
      found.set(each.iid, await this.#look(each, order));
    });
    return found;
  }

  async #look({ iid, issue, version, kept, isDoubtful }: Asked, order: HistoryOrder): Promise<HistoryFound> {
    const history = await this.#ask(iid, issue, order);
    if (history === 'unreadable') return history;
    if (isDoubtful && !(kept && isExplained(version, history, kept))) return 'late';
    this.#kept.set(iid, { version, history, isSettled: ageMs(issue) >= SETTLED_AFTER_MS });
    return history;
  }

  async #ask(iid: number, issue: GitlabIssue, { reading, rules }: HistoryOrder): Promise<ChangeHistory | 'unreadable'> {
    if (rules.trust !== 'anyone') {
      const hasBoth = (found: readonly Act[]) => PARTS.every((part) => found.some(({ what }) => what === part));
      const changes = await this.#changes(iid, reading, hasBoth);
      return changes === null ? 'unreadable' : { changes, labelled: new Map() };
    }
    const labelled = await this.#labels(iid, reading);
    if (isUntouched(issue)) return { changes: [], labelled };
    const { atMs } = lastLabel(issue, labelled, rules);
    const changes = await this.#changes(iid, reading, (_, oldestMs) => oldestMs < atMs);
    return changes === null ? 'unreadable' : { changes, labelled };
  }

  /** The newest first, as far back as `isEnough` says; `null`: there is no end to them. */
  async #changes(
    iid: number,
    reading: HttpReading,
    isEnough: (found: readonly Act[], oldestMs: number) => boolean,
  ): Promise<readonly Act[] | null> {
    const found: Act[] = [];
    const query = Object.entries({ sort: 'desc', order_by: 'created_at', activity_filter: 'only_activity' });
    for (let page = 1; page <= MAX_PAGES; page++) {
      const { items, next } = await readPage(this.api, reading, { segments: ['issues', iid, 'notes'], query }, page);
      let oldestMs = Number.POSITIVE_INFINITY;
      for (const { system, body, author, created_at: at } of items.map(fieldsOf)) {
        const atMs = timeOf(at);
        if (system !== true) continue;
        if (atMs === null) return null;
        oldestMs = Math.min(oldestMs, atMs);
        const text = textOf(body) ?? '';
        const what = RENAME.test(text) ? 'title' : EDIT.test(text) ? 'description' : null;
        if (what !== null) found.push({ what, by: usernameOf(author), atMs });
      }
      if (next === null || isEnough(found, oldestMs)) return found;
    }
    return null;
  }

  async #labels(iid: number, reading: HttpReading): Promise<ChangeHistory['labelled']> {
    const events = await readList(this.api, reading, {
      segments: ['issues', iid, 'resource_label_events'],
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

/** Without a date nobody knows: then it is old, and its notes are read each time it changes. */
function ageMs({ updatedAt }: GitlabIssue): number {
  const atMs = timeOf(updatedAt);
  return atMs === null ? Number.POSITIVE_INFINITY : Date.now() - atMs;
}

/** Somebody changed a part of the text. `by: null`: nobody knows who. */
interface Act {
  readonly what: Part;
  readonly by: string | null;
  readonly atMs: number;
}

type Part = 'title' | 'description';
const PARTS: readonly Part[] = ['title', 'description'];

/** What happened to an issue, as far as it matters for trust. */
interface ChangeHistory {
  /** The newest first; those before the last label was put on may be missing. */
  readonly changes: readonly Act[];
  /** By `labelKey`: who put it on last. */
  readonly labelled: ReadonlyMap<string, Labelling>;
}

type Labelling = Omit<Act, 'what'>;

type Judged = Pick<GitlabIssue, 'author' | 'assignees' | 'labels' | 'createdAt' | 'updatedAt'>;

export interface Rules {
  readonly trust: Trust;
  readonly requiredLabels: readonly string[];
  readonly isMember: IsMember;
  /** The label that puts an issue with these labels into its state; `null`: none does. */
  stateLabelOf(labels: readonly string[]): string | null;
}

/**
 * On GitLab an issue can be changed by members, by its author, and by those to whom it is assigned. Whoever did so may be none of them any more, so that only its history
 * tells. Under `anyone` a label is what a member says yes with; but guests can label what they write as they write it, and a stranger could change the text after that.
 */
export function needsHistory(issue: Judged, rules: Rules): boolean {
  const { trust, requiredLabels, isMember } = rules;
  // It cannot start without them, whoever changed it.
  if (!hasLabels(issue, requiredLabels)) return false;
  if (trust === 'members') return isMember(issue.author);
  if (trust === 'anyone') return startLabels(issue, rules).length > 0;
  return isTrustedWriter({ login: issue.author, isMember: null }, trust) === true;
}

/** Somebody who is not trusted may change it at this very moment. Members may be left out of a list of logins. */
function isOpenToStrangers({ author, assignees }: Judged, { trust, isMember }: Rules): boolean {
  return (trust !== 'members' && trust !== 'anyone') || [author, ...assignees].some((login) => !isMember(login));
}

/** Why an issue must not be worked on, going on from "it …"; `null`: nobody untrusted had the last word. */
export function changedByStranger(issue: Judged, history: ChangeHistory, rules: Rules): string | null {
  if (!needsHistory(issue, rules)) return null;
  return rules.trust === 'anyone' ? afterLabel(issue, history, rules) : lastByStranger(history, rules);
}

/** Of title and description each: whoever corrects the one has not vouched for the other. */
function lastByStranger({ changes }: ChangeHistory, { trust, isMember }: Rules): string | null {
  const last = PARTS.flatMap((part) => changes.find(({ what }) => what === part) ?? []);
  const stranger = last.find(({ by }) => isTrustedWriter({ login: by, isMember: isMember(by) }, trust) !== true);
  if (!stranger) return null;
  const who = `${nameOf(stranger)}, who is ${trust === 'members' ? 'no member' : 'not trusted'}`;
  return `has a ${stranger.what} that was last changed by ${who}`;
}

function afterLabel(issue: Judged, { changes, labelled }: ChangeHistory, rules: Rules): string | null {
  // A label that nobody was seen to put on was put on by the author.
  const unsaid = startLabels(issue, rules).find((name) => {
    const labelling = labelled.get(labelKey(name));
    return !rules.isMember(labelling === undefined ? issue.author : labelling.by);
  });
  if (unsaid !== undefined) return `carries the label "${unsaid}", which no member has put on it`;
  const label = lastLabel(issue, labelled, rules);
  // At the same time nobody knows what came first.
  const changed = changes.find(({ by, atMs }) => atMs >= label.atMs && !rules.isMember(by));
  if (!changed) return null;
  return `was changed by ${nameOf(changed)}, who is no member, after the label "${label.name}" was put on it`;
}

/** The yes is complete with the last of the labels. One that nobody was seen to put on was there from the beginning. */
function lastLabel(
  issue: Judged,
  labelled: ChangeHistory['labelled'],
  rules: Rules,
): { readonly name: string; readonly atMs: number } {
  const createdAtMs = Date.parse(issue.createdAt ?? '') || 0;
  return startLabels(issue, rules)
    .map((name) => ({ name, atMs: labelled.get(labelKey(name))?.atMs ?? createdAtMs }))
    .reduce((last, each) => (each.atMs > last.atMs ? each : last));
}

/** What a member says yes with: the required labels or, where there are none, the one that makes its state. */
export function startLabels(
  { labels }: Pick<Judged, 'labels'>,
  { requiredLabels, stateLabelOf }: Pick<Rules, 'requiredLabels' | 'stateLabelOf'>,
): readonly string[] {
  if (requiredLabels.length > 0) return requiredLabels;
  const label = stateLabelOf(labels);
  return label === null ? [] : [label];
}

/** Nobody but its author had a hand in it, who may say yes where one is needed: no history could tell more. */
function isAsWritten(issue: Judged, { trust, isMember }: Rules): boolean {
  return isUntouched(issue) && (trust !== 'anyone' || isMember(issue.author));
}

/** Every change moves the time of the last one. */
function isUntouched({ createdAt, updatedAt }: Judged): boolean {
  return createdAt !== null && createdAt === updatedAt;
}

function nameOf({ by }: Act): string {
  return by ?? 'somebody whose account is gone';
}

/** An issue at a time: when it was changed last, what its text was, and of which history that takes to judge it. */
interface Version {
  readonly updatedAt: string | null;
  readonly title: string;
  readonly description: string;
  readonly depth: string;
}

function versionOf(issue: GitlabIssue, rules: Rules): Version {
  const { updatedAt, fields } = issue;
  const title = new Digest(fields.title);
  const description = new Digest(fields.description);
  return {
    updatedAt,
    get title() {
      return title.text;
    },
    get description() {
      return description.text;
    },
    depth: rules.trust === 'anyone' ? JSON.stringify(startLabels(issue, rules)) : '',
  };
}

/** Made when it is first compared: of most issues of a large board it never is. */
class Digest {
  #made: string | null = null;
  #of: unknown;

  constructor(of: unknown) {
    this.#of = of;
  }

  get text(): string {
    this.#made ??= hash('sha256', JSON.stringify(this.#of ?? null), 'base64');
    this.#of = null;
    return this.#made;
  }
}

function isSameText(one: Version, other: Version): boolean {
  return PARTS.every((part) => one[part] === other[part]);
}

/** Whatever of the text is another since then, a note tells by whom. */
function isExplained(
  now: Version,
  history: ChangeHistory,
  then: { readonly version: Version; readonly history: ChangeHistory },
): boolean {
  return PARTS.every(
    (part) => now[part] === then.version[part] || newestMs(history, part) > newestMs(then.history, part),
  );
}

function newestMs({ changes }: ChangeHistory, part: Part): number {
  return changes.find(({ what }) => what === part)?.atMs ?? 0;
}

/** Planner: from there on people may change the issues of others. Guests write issues like anybody. */
const MEMBER_LEVEL = 15;
const GOOD_FOR_MS = 5 * 60_000;

export type IsMember = (login: string | null) => boolean;

/**
 * Who belongs to the project, by inheritance and invitation too. The list is read again after five minutes, and when somebody turns up who was not asked about since
 * it was read: that may be a new member.
 */
export class Members {
  #logins: ReadonlySet<string> = new Set();
  #strangers = new Set<string>();
  #readAtMs: number | null = null;

  constructor(
    private readonly api: GitlabApi,
    private readonly nowMs: () => number,
  ) {}

  /** The judge over these people. */
  async among(people: Iterable<string | null>, reading: HttpReading): Promise<IsMember> {
    const asked = new Set([...people].flatMap((login) => login?.toLowerCase() ?? []));
    if (asked.size > 0 && (this.#isOld() || this.#hasNewFace(asked))) await this.#read(asked, reading);
    const logins = this.#logins;
    return (login) => login !== null && logins.has(login.toLowerCase());
  }

  #isOld(): boolean {
    return this.#readAtMs === null || this.nowMs() - this.#readAtMs >= GOOD_FOR_MS;
  }

  #hasNewFace(asked: ReadonlySet<string>): boolean {
    return [...asked].some((login) => !this.#logins.has(login) && !this.#strangers.has(login));
  }

  async #read(asked: ReadonlySet<string>, reading: HttpReading): Promise<void> {
    const found = await readList(this.api, reading, {
      segments: ['members', 'all'],
      read: fieldsOf,
      idOf: ({ id }) => (Number.isSafeInteger(id) ? String(id) : null),
    });
    this.#logins = new Set(found.flatMap((fields) => memberIn(fields) ?? []));
    this.#strangers = new Set(
      [...(this.#isOld() ? [] : this.#strangers), ...asked].filter((login) => !this.#logins.has(login)),
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
