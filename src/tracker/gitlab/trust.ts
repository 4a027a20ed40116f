import { setImmediate as othersTurn } from 'node:timers/promises';
import { fieldsOf, textOf } from '../../domain/fields.js';
import type { HttpReading } from '../http/tracker-http.js';
import { inParallel } from '../in-parallel.js';
import {
  type Act,
  type ChangeHistory,
  isAsWritten,
  isOpenToStrangers,
  isUntouched,
  type Labelling,
  lastLabel,
  PARTS,
  type Rules,
} from './changed-by-stranger.js';
import type { GitlabApi } from './api.js';
import { type GitlabIssue, labelKey, usernameOf } from './issue.js';
import { isExplained, isSameText, type Version, versionOf } from './issue-version.js';
import { readList, readPage } from './read-list.js';

/** `unreadable`: nobody can tell. `late`: it was changed just now, and GitLab notes by whom only after that. `later`: its turn comes with another poll. */
export type HistoryFound = ChangeHistory | 'unreadable' | 'late' | 'later';

export interface HistoryOrder {
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
const MAX_KEPT = 20_000;
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
  readonly #kept = new Map<number, Kept>();

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
          this.#keep(iid, { version: versionOf(issue, order.rules), history: NOTHING, isSettled: true });
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
    this.#keep(iid, { version, history, isSettled: ageMs(issue) >= SETTLED_AFTER_MS });
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

  #keep(iid: number, entry: Kept): void {
    this.#kept.delete(iid);
    this.#kept.set(iid, entry);
    for (const [oldest] of this.#kept) {
      if (this.#kept.size <= MAX_KEPT) break;
      this.#kept.delete(oldest);
    }
  }
}

/** Without a date nobody knows: then it is old, and its notes are read each time it changes. */
function ageMs({ updatedAt }: GitlabIssue): number {
  const atMs = timeOf(updatedAt);
  return atMs === null ? Number.POSITIVE_INFINITY : Date.now() - atMs;
}

function timeOf(value: unknown): number | null {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}
