import type { Trust } from '../../domain/config.js';
import type { HttpReading } from '../http/tracker-http.js';
import { isTrustedWriter, type WrittenComment } from '../trust.js';
import { askNodes, loginIn } from './ask-nodes.js';
import type { GithubApi } from './api.js';

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
