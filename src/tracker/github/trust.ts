import { createHash } from 'node:crypto';
import { BoundedMap } from '../../domain/bounded-map.js';
import type { Trust } from '../../domain/config.js';
import { labelKey } from '../../domain/issue.js';
import { type Fields, fieldsOf, listOf, textOf, timeOf } from '../../domain/json.js';
import type { HttpReading } from '../http/tracker-http.js';
import { isTrustedWriter, type Writer, type WrittenComment } from '../trust.js';
import { askNodes, type GithubApi, loginIn } from './api.js';
import type { GithubIssue } from './issue.js';

/** Only GraphQL tells who edited a description. */
export const HISTORY_QUERY = `query BatonEditHistories($ids: [ID!]!) {
  nodes(ids: $ids) {
    __typename
    ... on Issue {
      updatedAt
      lastEditedAt
      editor { __typename login }
      includesCreatedEdit
      userContentEdits(first: 100) {
        totalCount
        nodes { editedAt editor { __typename login } }
      }
      timelineItems(last: 100, itemTypes: [LABELED_EVENT, RENAMED_TITLE_EVENT]) {
        pageInfo { hasPreviousPage }
        nodes {
          __typename
          ... on LabeledEvent { createdAt label { name } }
          ... on RenamedTitleEvent { createdAt actor { __typename login } }
        }
      }
    }
  }
}`;

/** As many issues as one question is about. */
const BATCH = 50;
const MAX_REMEMBERED = 5_000;

/** `unreadable`: there is none. `late`: it is older than the issue as it was read, and may lack the very change that matters. */
export type HistoryFound = EditHistory | 'unreadable' | 'late';

/**
 * Who changed which issue, asked once per version of it. A version is the time of its last change together with its text: that time counts whole seconds, and two
 * changes may share one. What was found once holds on while GraphQL lags behind, as long as the text is the same: a run is not ended because its agent commented.
 */
export class EditHistories {
  readonly #kept = new BoundedMap<string, Kept>(MAX_REMEMBERED);

  constructor(private readonly api: GithubApi) {}

  /** By number. */
  async read(issues: readonly GithubIssue[], reading: HttpReading): Promise<ReadonlyMap<number, HistoryFound>> {
    const found = new Map<number, HistoryFound>();
    const asked: Asked[] = [];
    for (const issue of issues) {
      const { number, nodeId } = issue;
      if (number === null) continue;
      const kept = nodeId === null ? undefined : this.#kept.get(nodeId);
      if (nodeId === null) found.set(number, 'unreadable');
      else if (kept?.updatedAt === issue.updatedAt && kept.text === digestOf(issue)) found.set(number, kept.history);
      else asked.push({ number, nodeId, issue, kept });
    }
    for (let at = 0; at < asked.length; at += BATCH) {
      const batch = asked.slice(at, at + BATCH);
      const ids = batch.map(({ nodeId }) => nodeId);
      const nodes = await askNodes(this.api, reading, HISTORY_QUERY, ids);
      for (const [n, { number, nodeId, issue, kept }] of batch.entries()) {
        const history = historyIn(nodes[n] ?? {}, issue.updatedAt);
        const isKeptGood = history === 'late' && kept !== undefined && kept.text === digestOf(issue);
        found.set(number, isKeptGood ? sinceThen(kept, issue) : history);
        if (typeof history !== 'string') this.#kept.set(nodeId, keptOf(issue, history));
      }
    }
    return found;
  }
}

interface Kept {
  readonly updatedAt: string | null;
  /** Of title and description, as a digest. */
  readonly text: string;
  /** That it carried, by `labelKey`. */
  readonly labels: ReadonlySet<string>;
  readonly history: EditHistory;
}

interface Asked {
  readonly number: number;
  readonly nodeId: string;
  readonly issue: GithubIssue;
  readonly kept: Kept | undefined;
}

function keptOf(issue: GithubIssue, history: EditHistory): Kept {
  const { updatedAt, labels } = issue;
  return { updatedAt, text: digestOf(issue), labels: new Set(labels.map(labelKey)), history };
}

/** What was kept, for an issue with the same text. A label that it did not carry then was put on since. */
function sinceThen({ updatedAt, labels, history }: Kept, issue: GithubIssue): EditHistory {
  const thenMs = Date.parse(updatedAt ?? '') || 0;
  const added = issue.labels.map(labelKey).filter((label) => !labels.has(label));
  return {
    ...history,
    labelledAtMs: new Map([...history.labelledAtMs, ...added.map((label) => [label, thenMs] as const)]),
  };
}

function digestOf({ fields }: GithubIssue): string {
  return createHash('sha256')
    .update(JSON.stringify([fields.title, fields.body]))
    .digest('base64');
}

/** What a node of `HISTORY_QUERY` tells. `unreadable`: nothing. `late`: it is older than the issue as it was read. */
export function historyIn(node: Fields, updatedAt: string | null): EditHistory | 'unreadable' | 'late' {
  const atMs = timeOf(node.updatedAt);
  const edited = editsIn(node);
  const timeline = timelineIn(fieldsOf(node.timelineItems));
  if (node.__typename !== 'Issue' || atMs === null || edited === null || timeline === null) return 'unreadable';
  if (atMs < Date.parse(updatedAt ?? '')) return 'late';
  const { renames, labelledAtMs } = timeline;
  return {
    ...{ edits: edited.acts, renames, labelledAtMs },
    completeSinceMs: Math.max(edited.completeSinceMs, timeline.completeSinceMs),
  };
}

interface Edits {
  /** The oldest first. */
  readonly acts: readonly Act[];
  readonly completeSinceMs: number;
}

/** Of the description. GitHub tells a hundred of them, the newest first or not; the last one is told beside them. */
function editsIn(node: Fields): Edits | null {
  const { totalCount, nodes } = fieldsOf(node.userContentEdits);
  const lastAtMs = timeOf(node.lastEditedAt);
  const told = actsIn(listOf(nodes), 'editedAt', 'editor');
  if (told === null) return null;
  if (lastAtMs === null) return { acts: told, completeSinceMs: Number.NEGATIVE_INFINITY };
  const last: Act = { by: loginIn(node.editor), atMs: lastAtMs };
  const isWhole = told.length > 0 && typeof totalCount === 'number' && totalCount <= told.length;
  // What was written first is told as an edit, too.
  const acts = isWhole && node.includesCreatedEdit === true ? told.slice(1) : told;
  return { acts: [...acts, last], completeSinceMs: isWhole ? Number.NEGATIVE_INFINITY : oldestOf(told, last) };
}

/** Those that are missing are older than all that are told, as long as the newest is among these. */
function oldestOf(told: readonly Act[], last: Act): number {
  const newestMs = told.at(-1)?.atMs ?? 0;
  return newestMs >= last.atMs ? (told[0]?.atMs ?? last.atMs) : last.atMs;
}

function timelineIn({ pageInfo, nodes }: Fields) {
  if (!Array.isArray(nodes)) return null;
  const items = nodes.map(fieldsOf);
  const renames = actsIn(
    items.filter(({ __typename }) => __typename === 'RenamedTitleEvent'),
    'createdAt',
    'actor',
  );
  const labelledAtMs = new Map<string, number>();
  let oldestMs = Number.POSITIVE_INFINITY;
  for (const { __typename, createdAt, label } of items) {
    const atMs = timeOf(createdAt);
    if (atMs === null) return null;
    oldestMs = Math.min(oldestMs, atMs);
    const name = textOf(fieldsOf(label).name);
    if (__typename === 'LabeledEvent' && name !== null)
      labelledAtMs.set(labelKey(name), Math.max(atMs, labelledAtMs.get(labelKey(name)) ?? 0));
  }
  if (renames === null) return null;
  const isWhole = fieldsOf(pageInfo).hasPreviousPage === false;
  return { renames, labelledAtMs, completeSinceMs: isWhole ? Number.NEGATIVE_INFINITY : oldestMs };
}

/** The oldest first; `null`: one of them cannot be read. */
function actsIn(items: readonly unknown[], time: string, actor: string): readonly Act[] | null {
  const acts: Act[] = [];
  for (const item of items.map(fieldsOf)) {
    const atMs = timeOf(item[time]);
    if (atMs === null) return null;
    acts.push({ by: loginIn(item[actor]), atMs });
  }
  return acts.sort((one, other) => one.atMs - other.atMs);
}

/** Somebody did something. `by: null`: nobody knows who, the account is gone. */
export interface Act {
  readonly by: string | null;
  readonly atMs: number;
}

/** What happened to an issue, as far as it matters for trust. */
interface EditHistory {
  /** Of the description, the oldest first. */
  readonly edits: readonly Act[];
  /** Of the title, the oldest first. */
  readonly renames: readonly Act[];
  /** Since when, that time left out, nothing is missing above and below. */
  readonly completeSinceMs: number;
  /** By label, trimmed and in lower case: when it was last put on. */
  readonly labelledAtMs: ReadonlyMap<string, number>;
}

export interface Judged {
  readonly author: Writer & { readonly isMember: boolean };
  readonly labels: readonly string[];
  readonly createdAt: string | null;
}

export interface Rules {
  readonly trust: Trust;
  readonly requiredLabels: readonly string[];
  /** The label that puts an issue with these labels into its state; `null`: none does. */
  stateLabelOf(labels: readonly string[]): string | null;
}

/**
 * Besides its author only people with write access can edit an issue on GitHub, so that under `members` the author says it all. A list of logins may leave out people
 * with write access. Under `anyone` a label is what a member says yes with, and an author could change the text after that.
 */
export function needsHistory(issue: Judged, rules: Rules): boolean {
  const { author, labels } = issue;
  const { trust, requiredLabels } = rules;
  if (trust === 'members') return false;
  const carried = new Set(labels.map(labelKey));
  // It cannot start without them, whoever changed it.
  if (!requiredLabels.every((label) => carried.has(labelKey(label)))) return false;
  if (trust === 'anyone') return startLabels(issue, rules).length > 0 && !author.isMember;
  return isTrustedWriter(author, trust) === true;
}

/** What a member says yes with: the required labels or, where there are none, the one that makes its state. */
function startLabels({ labels }: Judged, { requiredLabels, stateLabelOf }: Rules): readonly string[] {
  if (requiredLabels.length > 0) return requiredLabels;
  const label = stateLabelOf(labels);
  return label === null ? [] : [label];
}

/** Why an issue must not be worked on, going on from "it …"; `null`: nobody untrusted had the last word. */
export function changedByStranger(issue: Judged, history: EditHistory, rules: Rules): string | null {
  if (!needsHistory(issue, rules)) return null;
  return rules.trust === 'anyone' ? afterLabel(issue, history, rules) : byUnlisted(history, rules.trust);
}

function byUnlisted({ edits, renames }: EditHistory, trust: Trust): string | null {
  for (const [act, what] of [
    [edits.at(-1), 'edited'],
    [renames.at(-1), 'renamed'],
  ] as const) {
    if (act !== undefined && isTrustedWriter({ login: act.by, isMember: null }, trust) !== true)
      return `was last ${what} by ${nameOf(act)}, who is not trusted`;
  }
  return null;
}

/** All that happened since counts: who edits after a stranger has not said yes to what that one wrote. */
function afterLabel(issue: Judged, history: EditHistory, rules: Rules): string | null {
  const { author } = issue;
  const { edits, renames, completeSinceMs, labelledAtMs } = history;
  const label = lastLabel(issue, labelledAtMs, rules);
  // In the same second nobody knows what came first.
  const changed = [...edits, ...renames].find((act) => act.atMs >= label.atMs && isAuthor(act, author));
  if (changed)
    return `was changed by ${nameOf(changed)}, who is no member, after the label "${label.name}" was put on it`;
  if (label.atMs > completeSinceMs) return null;
  return `was changed so often that GitHub does not tell who did so after the label "${label.name}" was put on it`;
}

/** The yes is complete with the last of the labels. One that nobody was seen to put on was there from the beginning. */
function lastLabel(
  issue: Judged,
  labelledAtMs: EditHistory['labelledAtMs'],
  rules: Rules,
): { readonly name: string; readonly atMs: number } {
  const createdAtMs = Date.parse(issue.createdAt ?? '') || 0;
  return startLabels(issue, rules)
    .map((name) => ({ name, atMs: labelledAtMs.get(labelKey(name)) ?? createdAtMs }))
    .reduce((last, each) => (each.atMs > last.atMs ? each : last));
}

/** Who is neither the author nor unknown has write access. */
function isAuthor({ by }: Act, { login }: Writer): boolean {
  return by === null || login === null || by.toLowerCase() === login.toLowerCase();
}

function nameOf({ by }: Act): string {
  return by ?? 'somebody whose account is gone';
}

export interface GithubComment extends WrittenComment {
  readonly nodeId: string | null;
}

/** The text comes along, so that it is the one of which the editor is told. */
export const EDITORS_QUERY = `query BatonCommentEditors($ids: [ID!]!) {
  nodes(ids: $ids) {
    __typename
    ... on IssueComment {
      body
      lastEditedAt
      editor { __typename login }
    }
  }
}`;

/**
 * Without the comments whose last editor is not trusted. Whoever has write access can edit what others wrote, and may be left out of a list of logins; under any other
 * trust such people are trusted anyway. At most a hundred.
 */
export async function withoutForeignWords(
  comments: readonly GithubComment[],
  api: GithubApi,
  reading: HttpReading,
  trust: Trust,
): Promise<readonly GithubComment[]> {
  const known = comments.flatMap((comment) => (comment.nodeId === null ? [] : [{ comment, nodeId: comment.nodeId }]));
  if (known.length === 0) return [];
  const nodes = await askNodes(
    api,
    reading,
    EDITORS_QUERY,
    known.map(({ nodeId }) => nodeId),
  );
  return known.flatMap(({ comment }, n) => {
    const { __typename, body, lastEditedAt, editor } = nodes[n] ?? {};
    if (__typename !== 'IssueComment' || typeof body !== 'string') return [];
    const isOwn = lastEditedAt === null || isTrustedWriter({ login: loginIn(editor), isMember: null }, trust) === true;
    return isOwn ? [{ ...comment, body }] : [];
  });
}
