import { HISTORY_QUERY } from '../../../src/tracker/github/edit-histories.js';
import type { FakeAnswer, FakeRequest } from './fake-server.js';
import type { FakeTracker } from './fake-tracker.js';

type FakeActor = string | null;

/** What happened to an issue; times as GitHub writes them. */
export interface FakeHistory {
  /** The oldest first. */
  readonly edited?: readonly { readonly at: string; readonly by: FakeActor }[];
  readonly renamed?: readonly { readonly at: string; readonly by: FakeActor }[];
  readonly labelled?: readonly { readonly at: string; readonly label: string }[];
  /** When the answering server heard of the issue last; absent: just now. */
  readonly updatedAt?: string;
}

/** Answers the one query that there is, in GitHub's shape; the query itself is held against the published schema elsewhere. */
export function answerHistories(
  { body }: FakeRequest,
  histories: ReadonlyMap<string, FakeHistory>,
  board: FakeTracker['board'],
): FakeAnswer {
  const { query, variables } = body;
  if (query !== HISTORY_QUERY) return { body: { errors: [{ message: 'the fake does not know this query' }] } };
  const ids = variables.ids as string[];
  if (ids.length > 100) return { body: { errors: [{ type: 'ARGUMENT_LIMIT', message: 'at most 100 ids' }] } };
  const errors = ids.flatMap((id, n) =>
    board.has(numberIn(id))
      ? []
      : [
          {
            type: 'NOT_FOUND',
            path: ['nodes', n],
            message: `Could not resolve to a node with the global id of '${id}'`,
          },
        ],
  );
  const nodes = ids.map((id) => (board.has(numberIn(id)) ? nodeOf(numberIn(id), histories, board) : null));
  return {
    body: { data: { nodes }, ...(errors.length === 0 ? {} : { errors }) },
    headers: { 'x-ratelimit-resource': 'graphql' },
  };
}

function numberIn(nodeId: string): string {
  return nodeId.replace('I_kwDOA', '');
}

function nodeOf(id: string, histories: ReadonlyMap<string, FakeHistory>, board: FakeTracker['board']) {
  const { edited = [], renamed = [], labelled = [], updatedAt } = histories.get(id) ?? {};
  const issue = board.get(id);
  const items = [
    ...labelled.map(({ at, label }) => ({ __typename: 'LabeledEvent', createdAt: at, label: { name: label } })),
    ...renamed.map(({ at, by }) => ({ __typename: 'RenamedTitleEvent', createdAt: at, actor: actorOf(by) })),
  ].sort((one, other) => Date.parse(one.createdAt) - Date.parse(other.createdAt));
  const last = edited.at(-1);
  // With the first edit comes one that holds what was there before.
  const created = { at: issue?.createdAt ?? '', by: issue?.author ?? null };
  const edits = (last === undefined ? [] : [created, ...edited]).map(({ at, by }) => ({
    editedAt: at,
    editor: actorOf(by),
  }));
  return {
    ...{ __typename: 'Issue', updatedAt: updatedAt ?? issue?.updatedAt },
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
