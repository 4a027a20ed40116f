import type { IncomingHttpHeaders } from 'node:http';
import { BatonError } from '../../domain/errors.js';
import { type Fields, fieldsOf, listOf, textOf } from '../../domain/json.js';
import { shown } from '../../text/neutralise.js';
import type { HttpReading } from './tracker-http.js';

export interface GraphqlRequest {
  readonly reading: HttpReading;
  /** As people call the tracker. */
  readonly name: string;
  readonly path: string;
  readonly query: string;
  readonly variables: { readonly [name: string]: unknown };
  mask(text: string): string;
  /** Turns an error of the tracker's own into one of ours; `null`: it is nothing in particular. */
  classify?(error: Fields, headers: IncomingHttpHeaders): BatonError | null;
  /** The data say it as well, by what is missing in them: such an error fails nothing. */
  isToldByData?(error: Fields): boolean;
}

/** The `data` of an answer. An error is one, whatever the status says. */
export async function graphql(request: GraphqlRequest): Promise<Fields> {
  const { reading, name, path, query, variables } = request;
  // Providers send errors with 400 as well, and say more in them than the status does.
  const { body, status, headers } = await reading.ask({
    method: 'POST',
    path,
    body: { query, variables },
    accept: [400],
  });
  const { data, errors } = fieldsOf(body);
  const problems = listOf(errors).map(fieldsOf);
  for (const problem of problems) {
    const known = request.classify?.(problem, headers) ?? null;
    if (known !== null) throw known;
  }
  const failures = problems.filter((problem) => request.isToldByData?.(problem) !== true);
  if (failures.length > 0 || (errors !== undefined && errors !== null && !Array.isArray(errors))) {
    const said = failures.map(({ message }) => textOf(message) ?? 'no reason given').join('; ');
    throw new BatonError('tracker_response', `${name} refused a query: ${shown(said, (text) => request.mask(text))}`);
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
