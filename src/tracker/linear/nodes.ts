import { BatonError } from '../../domain/errors.js';
import { type Fields, fieldsOf, textOf } from '../../domain/fields.js';

/** The nodes of a connection. An answer without them is an error and no empty list. */
export function nodesOf(parent: Fields, connection: string): readonly unknown[] {
  const { nodes } = fieldsOf(parent[connection]);
  if (Array.isArray(nodes)) return nodes;
  throw new BatonError(
    'tracker_response',
    `Linear answered without the list of ${connection}. Check tracker.provider.endpoint.`,
  );
}

/** Where the next page begins; `null`: there is none. */
export function nextCursor(parent: Fields, connection: string): string | null {
  const { hasNextPage, endCursor } = fieldsOf(fieldsOf(parent[connection]).pageInfo);
  if (typeof hasNextPage !== 'boolean') {
    throw new BatonError('tracker_response', `Linear does not say whether there are more ${connection}.`);
  }
  if (!hasNextPage) return null;
  const cursor = textOf(endCursor);
  if (cursor !== null) return cursor;
  throw new BatonError(
    'tracker_pagination',
    `The pages of Linear do not fit together: there are more ${connection}, but not where they begin. Baton reads them again at the next poll.`,
  );
}
