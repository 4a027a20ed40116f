import type { IncomingHttpHeaders } from 'node:http';
import { BatonError } from '../../domain/errors.js';
import { type Fields, fieldsOf, listOf, textOf } from '../../domain/fields.js';
import { tooManyRequests } from '../http/bad-status.js';
import { graphql } from '../http/graphql.js';
import { resetOf } from '../http/limits.js';
import type { HttpReading } from '../http/tracker-http.js';
import { GITHUB, type GithubApi, githubQuota } from './api.js';

/** What GitHub's GraphQL API tells of nodes, one for each id, in the order in which they were asked for; nothing of one that is not there. */
export async function askNodes(
  api: GithubApi,
  reading: HttpReading,
  query: string,
  ids: readonly string[],
): Promise<readonly Fields[]> {
  const { nodes } = await graphql({
    ...{ reading, name: GITHUB, path: api.graphqlPath, query, variables: { ids } },
    mask: (text) => api.mask(text),
    classify: (error, headers) => (isLimit(error) ? limited(api, headers) : null),
    isToldByData: ({ type, path }) => type === 'NOT_FOUND' && listOf(path)[0] === 'nodes',
  });
  if (Array.isArray(nodes) && nodes.length === ids.length) return nodes.map(fieldsOf);
  const message = `${GITHUB} answered a question about ${ids.length} nodes with something else.`;
  throw new BatonError('tracker_response', `${message} Check tracker.provider.endpoint.`);
}

/** REST calls a bot `name[bot]`, GraphQL `name`, which may be a person's as well. `null`: the account is gone. */
export function loginIn(actor: unknown): string | null {
  const { __typename, login } = fieldsOf(actor);
  const name = textOf(login);
  return name !== null && __typename === 'Bot' ? `${name}[bot]` : name;
}

/** The name of the error changed over the years, and the second limit has none. */
function isLimit({ type, message }: Fields): boolean {
  return type === 'RATE_LIMITED' || type === 'RATE_LIMIT' || /rate limit/i.test(textOf(message) ?? '');
}

function limited({ graphqlPath }: GithubApi, headers: IncomingHttpHeaders): BatonError {
  const where = { name: GITHUB, method: 'POST', path: graphqlPath, tokenFrom: '' };
  return tooManyRequests(where, resetOf(headers, githubQuota, Date.now()));
}
