import type { IncomingHttpHeaders } from 'node:http';
import { BatonError } from '../../domain/errors.js';
import { type Fields, fieldsOf, listOf, textOf } from '../../domain/json.js';
import { shown } from '../../text/neutralise.js';
import type { HttpReading, HttpRequest } from './tracker-http.js';

export interface GraphqlRequest {
  readonly reading: HttpReading;
  /** The display name of the tracker. */
  readonly name: string;
  readonly path: string;
  readonly query: string;
  readonly variables: { readonly [name: string]: unknown };
  /** For pages of lists that are read again and again. `digest` takes the whole answer. */
  readonly keep?: Pick<HttpRequest, 'isConditional' | 'digest' | 'digestBy'>;
  mask(text: string): string;
  /** Maps a known error of the tracker to one of ours; null for any other. */
  classify?(error: Fields, headers: IncomingHttpHeaders): BatonError | null;
  /** True when missing data show the same problem, so that the error can be ignored. */
  isShownInData?(error: Fields): boolean;
}

/** The `data` of a response. An error counts whatever the status is. */
export async function graphql(request: GraphqlRequest): Promise<Fields> {
  const { reading, name, path, query, variables, keep } = request;
  // Some trackers send errors with 400, whose messages have more details than the status.
  const { body, status, headers } = await reading.ask({
    method: 'POST',
    path,
    body: { query, variables },
    accept: [400],
    ...keep,
  });
  const { data, errors } = fieldsOf(body);
  const problems = listOf(errors).map(fieldsOf);
  for (const problem of problems) {
    const known = request.classify?.(problem, headers) ?? null;
    if (known !== null) throw known;
  }
  const failures = problems.filter((problem) => request.isShownInData?.(problem) !== true);
  if (failures.length > 0 || (errors !== undefined && errors !== null && !Array.isArray(errors))) {
    const reasons = failures.map(({ message }) => textOf(message) ?? 'no reason given').join('; ');
    throw new BatonError(
      'tracker_response',
      `${name} refused a query: ${shown(reasons, (text) => request.mask(text))}`,
    );
  }
  if (status === 400) throw new BatonError('tracker_status', `${name}: POST ${path} answered 400.`, { status });
  if (typeof data !== 'object' || data === null) {
    throw new BatonError(
      'tracker_response',
      `${name} answered a query without data. Check the address of the tracker.`,
    );
  }
  return fieldsOf(data);
}
