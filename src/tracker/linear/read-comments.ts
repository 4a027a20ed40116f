import type { Trust } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import { type Fields, fieldsOf, textOf } from '../../domain/fields.js';
import type { Comment } from '../../domain/issue.js';
import type { HttpReading } from '../http/tracker-http.js';
import { trustedComments } from '../trust.js';
import type { LinearApi } from './api.js';
import { isTrusted, writerOf } from './linear-people.js';
import { nodesOf } from './nodes.js';
import { COMMENTS_QUERY } from './queries.js';

/** The newest comments of those who are trusted, oldest first. */
export async function readComments(
  api: LinearApi,
  reading: HttpReading,
  issueId: string,
  trust: Trust,
): Promise<readonly Comment[]> {
  const data = await api.ask(reading, { query: COMMENTS_QUERY, variables: { id: issueId }, mayRefuse: true });
  const issue = fieldsOf(data.issue);
  if (textOf(issue.id) === null) {
    throw new BatonError(
      'tracker_response',
      `Linear answered without issue ${issueId}, whose comments were asked for.`,
    );
  }
  const nodes = [...nodesOf(issue, 'one'), ...nodesOf(issue, 'other')].map(fieldsOf);
  const unique = [...new Map(nodes.map((node) => [node.id, node])).values()];
  const written = unique
    .map((node) => ({ node, writer: writerOf({ user: node.user, external: node.externalUser, bot: node.botActor }) }))
    .filter(({ writer }) => isTrusted(writer, trust))
    .sort((one, other) => timeOf(one.node) - timeOf(other.node))
    .map(({ node, writer }) => ({
      login: writer.login,
      isMember: writer.isMember,
      body: textOf(node.body) ?? '',
      created_at: textOf(node.createdAt),
    }));
  // Judged above, by every name that a writer has.
  return trustedComments(written, 'anyone');
}

function timeOf({ createdAt }: Fields): number {
  const ms = Date.parse(textOf(createdAt) ?? '');
  return Number.isNaN(ms) ? 0 : ms;
}
