import { createHash } from 'node:crypto';
import type { HttpReading } from '../http/tracker-http.js';
import { askNodes } from './ask-nodes.js';
import { type EditHistory, labelKey } from './changed-by-stranger.js';
import type { GithubApi } from './api.js';
import type { GithubIssue } from './issue.js';
import { historyIn } from './history-in.js';

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
const MAX_KEPT = 5_000;

/** `unreadable`: there is none. `late`: it is older than the issue as it was read, and may lack the very change that matters. */
export type HistoryFound = EditHistory | 'unreadable' | 'late';

/**
 * Who changed which issue, asked once per version of it. A version is the time of its last change together with its text: that time counts whole seconds, and two
 * changes may share one. What was found once holds on while GraphQL lags behind, as long as the text is the same: a run is not ended because its agent commented.
 */
export class EditHistories {
  readonly #kept = new Map<string, Kept>();

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
        if (typeof history !== 'string') this.#keep(nodeId, keptOf(issue, history));
      }
    }
    return found;
  }

  #keep(nodeId: string, entry: Kept): void {
    this.#kept.delete(nodeId);
    this.#kept.set(nodeId, entry);
    for (const [oldest] of this.#kept) {
      if (this.#kept.size <= MAX_KEPT) break;
      this.#kept.delete(oldest);
    }
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
