import { EDITORS_QUERY, HISTORY_QUERY } from '../../../src/tracker/github/trust.js';
import type { GithubWorld } from './fake-github.js';
import type { FakeAnswer, FakeRequest } from './fake-server.js';
import type { FakeTracker } from './fake-tracker.js';

export type FakeActor = string | null;

/** What happened to an issue; times as GitHub writes them. */
export interface FakeHistory {
  /** The oldest first. */
  readonly edited?: readonly { readonly at: string; readonly by: FakeActor }[];
  readonly renamed?: readonly { readonly at: string; readonly by: FakeActor }[];
  readonly labelled?: readonly { readonly at: string; readonly label: string }[];
  /** When the answering server heard of the issue last; absent: just now. */
  readonly updatedAt?: string;
}

/** Answers the two queries that there are, in GitHub's shape; the queries themselves are held against the published schema elsewhere. */
export function answerGraphql({ body }: FakeRequest, world: GithubWorld, board: FakeTracker['board']): FakeAnswer {
  const { query, variables } = body;
  const tell = { [HISTORY_QUERY]: issueNode, [EDITORS_QUERY]: commentNode }[query as string];
  if (tell === undefined) return { body: { errors: [{ message: 'the fake does not know this query' }] } };
  const ids = variables.ids as string[];
  if (ids.length > 100) return { body: { errors: [{ type: 'ARGUMENT_LIMIT', message: 'at most 100 ids' }] } };
  const nodes = ids.map((id) => tell(id, world, board));
  const errors = nodes.flatMap((node, n) => {
    if (node !== null) return [];
    const message = `Could not resolve to a node with the global id of '${ids[n]}'`;
    return [{ type: 'NOT_FOUND', path: ['nodes', n], message }];
  });
  return {
    body: { data: { nodes }, ...(errors.length === 0 ? {} : { errors }) },
    headers: { 'x-ratelimit-resource': 'graphql' },
  };
}

function commentNode(nodeId: string, { commentEditors }: GithubWorld, board: FakeTracker['board']) {
  const [, id = '', n = ''] = /^IC_kwDOA(\d+)_(\d+)$/.exec(nodeId) ?? [];
  const comment = board.get(id)?.comments[Number(n)];
  if (comment === undefined) return null;
  const editor = commentEditors.get(comment.body);
  return {
    ...{ __typename: 'IssueComment', body: comment.body },
    ...{ lastEditedAt: editor === undefined ? null : comment.createdAt, editor: actorOf(editor ?? null) },
  };
}

function issueNode(nodeId: string, { histories }: GithubWorld, board: FakeTracker['board']) {
  const id = nodeId.replace('I_kwDOA', '');
  const issue = board.get(id);
  if (issue === undefined) return null;
  const { edited = [], renamed = [], labelled = [], updatedAt } = histories.get(id) ?? {};
  const items = [
    ...labelled.map(({ at, label }) => ({ __typename: 'LabeledEvent', createdAt: at, label: { name: label } })),
    ...renamed.map(({ at, by }) => ({ __typename: 'RenamedTitleEvent', createdAt: at, actor: actorOf(by) })),
  ].sort((one, other) => Date.parse(one.createdAt) - Date.parse(other.createdAt));
  const last = edited.at(-1);
  // With the first edit comes one that holds what was there before.
  const created = { at: issue.createdAt, by: issue.author };
  const edits = (last === undefined ? [] : [created, ...edited]).map(({ at, by }) => ({
    editedAt: at,
    editor: actorOf(by),
  }));
  return {
    ...{ __typename: 'Issue', updatedAt: updatedAt ?? issue.updatedAt },
    ...{ lastEditedAt: last?.at ?? null, editor: actorOf(last?.by ?? null), includesCreatedEdit: last !== undefined },
    // The newest first, unlike the timeline.
    userContentEdits: { totalCount: edits.length, nodes: edits.reverse().slice(0, 100) },
    timelineItems: { pageInfo: { hasPreviousPage: items.length > 100 }, nodes: items.slice(-100) },
  };
}

/** GraphQL leaves the `[bot]` out. */
function actorOf(login: FakeActor) {
  if (login === null) return null;
  const isBot = login.endsWith('[bot]');
  return { __typename: isBot ? 'Bot' : 'User', login: isBot ? login.slice(0, -'[bot]'.length) : login };
}
