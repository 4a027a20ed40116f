import { createHash } from 'node:crypto';
import type { HttpReading } from '../http/tracker-http.js';
import { askNodes } from './ask-nodes.js';
import type { EditHistory } from './changed-by-stranger.js';
import type { GithubApi } from './github-api.js';
import type { GithubIssue } from './github-issue.js';
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
 * changes may share one.
 */
export class EditHistories {
  readonly #kept = new Map<string, { readonly version: string; readonly history: EditHistory }>();

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
      else if (kept?.version === versionOf(issue)) found.set(number, kept.history);
      else asked.push({ number, nodeId, issue });
    }
    for (let at = 0; at < asked.length; at += BATCH) {
      const batch = asked.slice(at, at + BATCH);
      const ids = batch.map(({ nodeId }) => nodeId);
      const nodes = await askNodes(this.api, reading, HISTORY_QUERY, ids);
      for (const [n, { number, nodeId, issue }] of batch.entries()) {
        const history = historyIn(nodes[n] ?? {}, issue.updatedAt);
        found.set(number, history);
        if (typeof history !== 'string') this.#keep(nodeId, { version: versionOf(issue), history });
      }
    }
    return found;
  }

  #keep(nodeId: string, entry: { readonly version: string; readonly history: EditHistory }): void {
    this.#kept.delete(nodeId);
    this.#kept.set(nodeId, entry);
    for (const [oldest] of this.#kept) {
      if (this.#kept.size <= MAX_KEPT) break;
      this.#kept.delete(oldest);
    }
  }
}

interface Asked {
  readonly number: number;
  readonly nodeId: string;
  readonly issue: GithubIssue;
}

function versionOf({ updatedAt, fields }: GithubIssue): string {
  const text = JSON.stringify([updatedAt, fields.title, fields.body]);
  return createHash('sha256').update(text).digest('base64');
}
