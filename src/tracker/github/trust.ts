import { createHash } from 'node:crypto';
import { BoundedMap } from '../../domain/bounded-map.js';
import type { Trust } from '../../domain/config.js';
import { labelKey } from '../../domain/issue.js';
import { type Fields, fieldsOf, listOf, textOf, timeOf } from '../../domain/json.js';
import { hasLabels } from '../forge-issue.js';
import type { HttpReading } from '../http/tracker-http.js';
import { isTrustedWriter, type WrittenComment } from '../trust.js';
import {
  approvalLabels,
  approvalOf,
  type Edit,
  type EditRules,
  type TextPart,
  untrustedEditAfter,
  untrustedLastEdit,
} from '../untrusted-edit.js';
import { type GithubApi, loginIn, readNodes } from './api.js';
import type { GithubIssue } from './issue.js';

/** Only GraphQL names the editors of a description. */
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

/** Issues per request. */
const BATCH = 50;
const MAX_REMEMBERED = 5_000;

/** Edits and labels of an issue, as far as they matter for trust. */
interface EditHistory {
  /** The newest first. */
  readonly edits: readonly Edit[];
  /** Nothing that happened after this time is missing. */
  readonly completeSinceMs: number;
  /** When a label was last added, by `labelKey`. */
  readonly labelledAtMs: ReadonlyMap<string, number>;
}

/** `unreadable`: GitHub shows no history. `late`: the history is older than the issue as it was read, and may lack its last edit. */
export type HistoryResult = EditHistory | 'unreadable' | 'late';

/**
 * The histories of issues, read once per version. A version is the time of the last change together with the text, since that time counts whole seconds and two
 * changes may share one. While GraphQL lags behind, the last history holds on as long as the text is the same: a comment of an agent must not end its run.
 */
export class EditHistories {
  readonly #versions = new BoundedMap<string, Version>(MAX_REMEMBERED);

  constructor(private readonly api: GithubApi) {}

  /** By number. */
  async read(issues: readonly GithubIssue[], reading: HttpReading): Promise<ReadonlyMap<number, HistoryResult>> {
    const results = new Map<number, HistoryResult>();
    const unread: UnreadIssue[] = [];
    for (const issue of issues) {
      const { number, nodeId } = issue;
      if (number === null) continue;
      const last = nodeId === null ? undefined : this.#versions.get(nodeId);
      if (nodeId === null) results.set(number, 'unreadable');
      else if (last?.updatedAt === issue.updatedAt && last.text === digestOf(issue)) results.set(number, last.history);
      else unread.push({ number, nodeId, issue, last });
    }
    for (let at = 0; at < unread.length; at += BATCH) {
      const batch = unread.slice(at, at + BATCH);
      const ids = batch.map(({ nodeId }) => nodeId);
      const nodes = await readNodes(this.api, reading, HISTORY_QUERY, ids);
      for (const [n, { number, nodeId, issue, last }] of batch.entries()) {
        const history = parseEditHistory(nodes[n] ?? {}, issue.updatedAt);
        const isSameText = last !== undefined && last.text === digestOf(issue);
        results.set(number, history === 'late' && isSameText ? historySince(last, issue) : history);
        if (typeof history !== 'string') this.#versions.set(nodeId, versionOf(issue, history));
      }
    }
    return results;
  }
}

/** An issue as it was when its history was read. */
interface Version {
  readonly updatedAt: string | null;
  /** A digest of title and description. */
  readonly text: string;
  /** By `labelKey`. */
  readonly labels: ReadonlySet<string>;
  readonly history: EditHistory;
}

interface UnreadIssue {
  readonly number: number;
  readonly nodeId: string;
  readonly issue: GithubIssue;
  readonly last: Version | undefined;
}

function versionOf(issue: GithubIssue, history: EditHistory): Version {
  const { updatedAt, labels } = issue;
  return { updatedAt, text: digestOf(issue), labels: new Set(labels.map(labelKey)), history };
}

/** The last history, for an issue with the same text. A label that it did not carry then was added since. */
function historySince({ updatedAt, labels, history }: Version, issue: GithubIssue): EditHistory {
  const thenMs = Date.parse(updatedAt ?? '') || 0;
  const added = issue.labels.map(labelKey).filter((label) => !labels.has(label));
  return {
    ...history,
    labelledAtMs: new Map([...history.labelledAtMs, ...added.map((label) => [label, thenMs] as const)]),
  };
}

function digestOf({ title, description }: GithubIssue): string {
  return createHash('sha256')
    .update(JSON.stringify([title, description]))
    .digest('base64');
}

/** The history in a node of `HISTORY_QUERY`. */
export function parseEditHistory(node: Fields, updatedAt: string | null): HistoryResult {
  const atMs = timeOf(node.updatedAt);
  const description = descriptionEdits(node);
  const timeline = parseTimeline(fieldsOf(node.timelineItems));
  if (node.__typename !== 'Issue' || atMs === null || description === null || timeline === null) return 'unreadable';
  if (atMs < Date.parse(updatedAt ?? '')) return 'late';
  return {
    edits: [...description.edits, ...timeline.renames].sort((one, other) => other.atMs - one.atMs),
    completeSinceMs: Math.max(description.completeSinceMs, timeline.completeSinceMs),
    labelledAtMs: timeline.labelledAtMs,
  };
}

/** GitHub lists a hundred edits of a description in no fixed order, and the last edit beside them. */
function descriptionEdits(node: Fields): Pick<EditHistory, 'edits' | 'completeSinceMs'> | null {
  const { totalCount, nodes } = fieldsOf(node.userContentEdits);
  const lastAtMs = timeOf(node.lastEditedAt);
  const listed = editsIn('description', listOf(nodes), 'editedAt', 'editor');
  if (listed === null) return null;
  if (lastAtMs === null) return { edits: listed, completeSinceMs: Number.NEGATIVE_INFINITY };
  const last: Edit = { part: 'description', by: loginIn(node.editor), atMs: lastAtMs };
  const isWhole = listed.length > 0 && typeof totalCount === 'number' && totalCount <= listed.length;
  // The first version is listed as an edit, too.
  const edits = isWhole && node.includesCreatedEdit === true ? listed.slice(0, -1) : listed;
  return { edits: [last, ...edits], completeSinceMs: isWhole ? Number.NEGATIVE_INFINITY : oldestOf(listed, last) };
}

/** Missing edits are older than all that are listed, as long as the last edit is among these. */
function oldestOf(listed: readonly Edit[], last: Edit): number {
  const newestMs = listed[0]?.atMs ?? 0;
  return newestMs >= last.atMs ? (listed.at(-1)?.atMs ?? last.atMs) : last.atMs;
}

function parseTimeline({ pageInfo, nodes }: Fields) {
  if (!Array.isArray(nodes)) return null;
  const items = nodes.map(fieldsOf);
  const renames = editsIn(
    'title',
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

/** The newest first; `null`: one of them cannot be read. */
function editsIn(part: TextPart, items: readonly unknown[], time: string, actor: string): readonly Edit[] | null {
  const edits: Edit[] = [];
  for (const item of items.map(fieldsOf)) {
    const atMs = timeOf(item[time]);
    if (atMs === null) return null;
    edits.push({ part, by: loginIn(item[actor]), atMs });
  }
  return edits.sort((one, other) => other.atMs - one.atMs);
}

type EditedIssue = Pick<GithubIssue, 'author' | 'isAuthorMember' | 'labels' | 'createdAt'>;

/**
 * Besides its author only people with write access can edit an issue on GitHub, so under `members` the author decides. A list of logins may leave out people with
 * write access. Under `anyone` a member approves an issue by a label, and its author could edit it after that.
 */
export function needsHistory(issue: EditedIssue, rules: EditRules): boolean {
  const { author, isAuthorMember } = issue;
  const { trust, requiredLabels } = rules;
  // Without its labels it cannot start, so its history does not matter.
  if (trust === 'members' || !hasLabels(issue, requiredLabels)) return false;
  if (trust === 'anyone') return approvalLabels(issue, rules).length > 0 && !isAuthorMember;
  return isTrustedWriter({ login: author, isMember: isAuthorMember }, trust) === true;
}

/** The reason to hold an issue back, going on from "it …"; `null`: its text is trusted. */
export function untrustedEdit(issue: EditedIssue, history: EditHistory, rules: EditRules): string | null {
  const { trust } = rules;
  if (!needsHistory(issue, rules)) return null;
  if (trust !== 'anyone')
    return untrustedLastEdit(
      history.edits,
      trust,
      (by) => isTrustedWriter({ login: by, isMember: null }, trust) === true,
    );
  const approval = approvalOf(issue, (label) => history.labelledAtMs.get(label), rules);
  const edit = untrustedEditAfter(approval, history.edits, (by) => mayBeAuthor(by, issue));
  if (edit !== null || approval.atMs > history.completeSinceMs) return edit;
  return `was changed so often that GitHub does not say who did so after the label "${approval.label}" was put on it`;
}

/** All other editors have write access. An unknown editor may be the author, and so may any editor of an unknown author's issue. */
function mayBeAuthor(by: string | null, { author }: EditedIssue): boolean {
  return by === null || author === null || by.toLowerCase() === author.toLowerCase();
}

export interface GithubComment extends WrittenComment {
  readonly nodeId: string | null;
}

/** Reads the text again, so that text and editor belong together. */
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
 * Drops comments whose last editor is not trusted. People with write access can edit comments of others, and a list of logins may leave them out; under any other trust
 * they are trusted. Takes at most a hundred comments.
 */
export async function withoutUntrustedEdits(
  comments: readonly GithubComment[],
  api: GithubApi,
  reading: HttpReading,
  trust: Trust,
): Promise<readonly GithubComment[]> {
  const known = comments.flatMap((comment) => (comment.nodeId === null ? [] : [{ comment, nodeId: comment.nodeId }]));
  if (known.length === 0) return [];
  const nodes = await readNodes(
    api,
    reading,
    EDITORS_QUERY,
    known.map(({ nodeId }) => nodeId),
  );
  return known.flatMap(({ comment }, n) => {
    const { __typename, body, lastEditedAt, editor } = nodes[n] ?? {};
    if (__typename !== 'IssueComment' || typeof body !== 'string') return [];
    const isTrusted =
      lastEditedAt === null || isTrustedWriter({ login: loginIn(editor), isMember: null }, trust) === true;
    return isTrusted ? [{ ...comment, body }] : [];
  });
}
