import { BatonError } from '../../domain/errors.js';
import { type Fields, fieldsOf, listOf, textOf } from '../../domain/json.js';
import { type GraphqlRequest, graphql } from '../http/graphql.js';
import {
  badStatus,
  numberIn,
  quotaIn,
  type ReadQuota,
  type RequestInfo,
  reasonIn,
  tooManyRequests,
} from '../http/limits.js';
import { type HttpAnswer, type HttpReading, TrackerHttp } from '../http/tracker-http.js';
import type { Token } from '../provider-settings.js';
import { MAX_ANSWER_BYTES } from '../raw-tool.js';

export const NAME = 'Linear';

/** Used when Linear does not say when its limit ends. */
const DEFAULT_WAIT_MS = 60_000;
/** The most that a query may cost. With fewer points left the quota is used up; otherwise a shorter limit was hit. */
const MAX_POINTS = 10_000;

interface LinearApiOptions {
  /** With the path of the API. */
  readonly endpoint: URL;
  readonly token: Token;
  mask(text: string): string;
}

interface LinearQuery {
  readonly query: string;
  readonly variables: { readonly [name: string]: unknown };
  /** For changes and queries about one issue: turns Linear's validation errors into `tracker_refused`. */
  readonly mayRefuse?: boolean;
  readonly keep?: GraphqlRequest['keep'];
}

/** Linear's GraphQL API: one address and one key. Turns its errors into `BatonError`. */
export class LinearApi {
  readonly #options: LinearApiOptions;
  readonly #http: TrackerHttp;
  readonly #path: string;

  constructor(options: LinearApiOptions) {
    const { endpoint, token } = options;
    this.#options = options;
    this.#path = endpoint.pathname;
    this.#http = new TrackerHttp({
      name: NAME,
      base: new URL(endpoint.origin),
      headers: { authorization: authorizationOf(token.value) },
      tokenFrom: token.from,
      readQuota: linearQuota,
      mask: options.mask,
    });
  }

  get tokenFrom(): string {
    return this.#options.token.from;
  }

  reading(signal: AbortSignal): HttpReading {
    return this.#http.reading(signal);
  }

  /** Returns the `data` of the answer. */
  query(reading: HttpReading, { query, variables, mayRefuse = false, keep = {} }: LinearQuery): Promise<Fields> {
    const { mask } = this.#options;
    const classify = (error: Fields) => this.#errorFrom(error, reading, mayRefuse);
    return graphql({ reading, name: NAME, path: this.#path, query, variables, keep, mask, classify });
  }

  /** Returns the raw answer with its errors. Throws only for a rate limit. */
  async send(body: { readonly query: string; readonly variables: Fields }, signal: AbortSignal): Promise<HttpAnswer> {
    const reading = this.reading(signal);
    const request = { method: 'POST', path: this.#path, body, accept: [400], maxBytes: MAX_ANSWER_BYTES } as const;
    const answer = await reading.ask(request);
    if (listOf(fieldsOf(answer.body).errors).some((error) => isNamed(fieldsOf(error), ...LIMIT)))
      throw tooManyRequests(this.#where, resetOf(reading));
    return answer;
  }

  close(): void {
    this.#http.close();
  }

  /** Linear names an error in `extensions.code` or `extensions.type`; the status is 200 or 400. */
  #errorFrom(error: Fields, reading: HttpReading, mayRefuse: boolean): BatonError | null {
    const is = (...names: readonly string[]) => isNamed(error, ...names);
    const message = textOf(error.message) ?? '';
    const { mask } = this.#options;
    const where = this.#where;
    if (is(...LIMIT)) return tooManyRequests(where, resetOf(reading));
    if (is('AUTHENTICATION_ERROR', 'authentication error')) {
      return badStatus(where, 401, JSON.stringify({ message }), mask);
    }
    if (is('FORBIDDEN', 'forbidden')) return badStatus(where, 403, JSON.stringify({ message }), mask);
    const isRefusal =
      is('INPUT_ERROR', 'ENTITY_NOT_FOUND', 'invalid input', 'user error') || message.startsWith('Entity not found');
    if (!mayRefuse || !isRefusal) return null;
    const { userPresentableMessage } = fieldsOf(error.extensions);
    const reason = reasonIn(JSON.stringify({ message: textOf(userPresentableMessage) ?? message }), mask);
    return new BatonError('tracker_refused', `Linear refuses: ${reason}`);
  }

  get #where(): RequestInfo {
    return { name: NAME, method: 'POST', path: this.#path, tokenFrom: this.tokenFrom };
  }
}

const LIMIT = ['RATELIMITED', 'ratelimited'];

function isNamed({ extensions }: Fields, ...names: readonly string[]): boolean {
  const { code, type } = fieldsOf(extensions);
  return names.some((name) => name === code || name === type);
}

/** Personal keys are sent bare, tokens of OAuth applications as bearer tokens. */
function authorizationOf(token: string): string {
  return token.startsWith('lin_oauth_') ? `Bearer ${token}` : token;
}

/** The reading has noted the quota headers of the refused request. */
function resetOf(reading: HttpReading): number {
  const nowMs = Date.now();
  const { remaining = MAX_POINTS, resetAtMs = 0 } = reading.rateLimit.rateLimit ?? {};
  return remaining < MAX_POINTS && resetAtMs > nowMs ? resetAtMs : nowMs + DEFAULT_WAIT_MS;
}

const byRequests = quotaIn('x-ratelimit-requests-remaining', 'x-ratelimit-requests-reset', 'milliseconds');
const byPoints = quotaIn('x-ratelimit-complexity-remaining', 'x-ratelimit-complexity-reset', 'milliseconds');

/** Converts requests to points, so that both limits are one number. Staying within that number exceeds neither limit. */
const POINTS_PER_REQUEST = 200;

/** Linear limits both requests and points. Returns the scarcer one, in points. */
const linearQuota: ReadQuota = (headers, nowMs) => {
  const requests = byRequests(headers, nowMs);
  const points = byPoints(headers, nowMs);
  const cost = Math.max(POINTS_PER_REQUEST, numberIn(headers, 'x-complexity') ?? 0);
  const asPoints = requests && { ...requests, remaining: requests.remaining * POINTS_PER_REQUEST };
  const scarcer = points !== null && asPoints !== null && points.remaining < asPoints.remaining ? points : asPoints;
  const left = scarcer ?? points;
  return left && { ...left, cost };
};

/** The nodes of a connection. Throws when the answer lacks them: that is not an empty list. */
export function nodesOf(parent: Fields, connection: string): readonly unknown[] {
  const { nodes } = fieldsOf(parent[connection]);
  if (Array.isArray(nodes)) return nodes;
  throw new BatonError(
    'tracker_response',
    `Linear answered without the list of ${connection}. Check tracker.provider.endpoint.`,
  );
}

/** The cursor of the next page; `null` after the last page. */
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
    `The pages of Linear are inconsistent: there are more ${connection}, but no cursor to read them. Baton reads them again at the next poll.`,
  );
}
