import type { IncomingHttpHeaders } from 'node:http';
import { BatonError } from '../../domain/errors.js';
import { type Fields, fieldsOf, textOf } from '../../domain/json.js';
import type { RateLimit } from '../../domain/ports.js';
import { numberIn, type ReadQuota, reasonIn } from '../http/limits.js';
import { type HttpAnswer, type HttpReading, type HttpRequest, TrackerHttp } from '../http/tracker-http.js';
import type { JiraSettings } from './settings.js';

export const API = '/rest/api/3';
/** The id or the key of an issue. */
export const ISSUE_REF = /^(?:\d{1,18}|[A-Za-z][A-Za-z0-9_]{0,99}-\d{1,18})$/;
/** The id of any object in Jira. */
export const NUMERIC_ID = /^\d{1,18}$/;

/** The REST API of Jira, below `/rest/api/3`. */
export class JiraApi {
  readonly #http: TrackerHttp;
  readonly #tokenFrom: string;
  readonly #mask: (text: string) => string;

  constructor(settings: JiraSettings, mask: (text: string) => string) {
    const { base, authorization, tokenFrom } = settings;
    this.#tokenFrom = tokenFrom;
    this.#mask = (text) => mask(withoutCredentials(text, authorization));
    this.#http = new TrackerHttp({
      ...{ name: 'Jira', base, tokenFrom, headers: { authorization } },
      readQuota: readJiraQuota,
      mask: this.#mask,
    });
  }

  mask(text: string): string {
    return this.#mask(text);
  }

  calls(signal: AbortSignal): JiraCalls {
    return new JiraCalls(this.#http.reading(signal), this.#tokenFrom, this.#mask);
  }

  close(): void {
    this.#http.close();
  }
}

/** The mask knows only the token; a request carries the base64 of e-mail address and token. */
function withoutCredentials(text: string, authorization: string): string {
  const sent = authorization.replace(/^\w+ /, '').replace(/=+$/, '');
  return text.replaceAll(sent, '***').replaceAll(encodeURIComponent(sent), '***');
}

/** The requests of one read or change. */
export class JiraCalls {
  #account: Fields | null = null;

  constructor(
    private readonly reading: HttpReading,
    private readonly tokenFrom: string,
    private readonly mask: (text: string) => string,
  ) {}

  get(path: string, accept: readonly number[] = []): Promise<HttpAnswer> {
    return this.ask({ path: `${API}${path}`, accept });
  }

  post(path: string, body: unknown, more: Omit<HttpRequest, 'method' | 'path' | 'body'> = {}): Promise<HttpAnswer> {
    return this.ask({ method: 'POST', path: `${API}${path}`, body, ...more });
  }

  async ask(request: HttpRequest): Promise<HttpAnswer> {
    const answer = await this.reading.ask(request);
    // Jira treats an expired token as an anonymous user: status 200, without issues.
    if (/FAILED|DENIED/i.test(String(answer.headers['x-seraph-loginreason'] ?? ''))) throw this.#badToken();
    return answer;
  }

  /**
   * The account of the token. Throws `tracker_auth` when Jira does not know it. A missing issue is proven gone only after this
   * check.
   */
  async account(): Promise<Fields> {
    if (this.#account !== null) return this.#account;
    const account = fieldsOf((await this.get('/myself')).body);
    if (textOf(account.accountId) === null) throw invalidAnswer('the account of the token', 'has no accountId');
    this.#account = account;
    return account;
  }

  /** Jira's own reason for a refusal. */
  reasonIn({ body }: Pick<HttpAnswer, 'body'>): string {
    return body === null ? '' : reasonIn(JSON.stringify(body), this.mask);
  }

  get rateLimit(): { readonly rateLimit?: RateLimit } {
    return this.reading.rateLimit;
  }

  #badToken(): BatonError {
    const message =
      `Jira does not accept the token of ${this.tokenFrom}: it is wrong, was revoked or has expired, or tracker.provider.email is another account's. ` +
      `Put a good token into ${this.tokenFrom} and restart.`;
    return new BatonError('tracker_auth', message, { status: 401 });
  }
}

/** For an answer that contradicts Jira's documentation. */
export function invalidAnswer(what: string, problem: string): BatonError {
  const message = `Jira answered, but ${what} ${problem}. Check tracker.provider.endpoint, and whether a proxy is in between.`;
  return new BatonError('tracker_response', message);
}

/** Longer waits come from a wrong clock. */
const MAX_WAIT_MS = 24 * 3_600_000;

type Quota = ReturnType<ReadQuota>;

/**
 * Returns the scarcest of Jira's limits. `X-RateLimit-Remaining` comes with every answer, but counts within a second; it is used
 * only beside `X-RateLimit-Reset`, an ISO 8601 time. Tokens of apps have an hourly budget: `RateLimit: "name";r=left;t=seconds`.
 */
export const readJiraQuota: ReadQuota = (headers, nowMs) => {
  const quotas = [
    countQuota(headers, nowMs),
    budgetQuota(headers.ratelimit, nowMs),
    budgetQuota(headers['beta-ratelimit'], nowMs),
  ];
  return quotas.reduce((scarcest, quota) => {
    if (quota === null || quota.resetAtMs <= nowMs) return scarcest;
    return scarcest === null || quota.remaining < scarcest.remaining ? quota : scarcest;
  }, null);
};

function countQuota(headers: IncomingHttpHeaders, nowMs: number): Quota {
  const remaining = numberIn(headers, 'x-ratelimit-remaining');
  const reset = headers['x-ratelimit-reset'];
  const atMs = typeof reset === 'string' && reset.includes('T') ? Date.parse(reset) : Number.NaN;
  return remaining === null || Number.isNaN(atMs) ? null : { remaining, resetAtMs: clamped(atMs, nowMs) };
}

function budgetQuota(header: string | string[] | undefined, nowMs: number): Quota {
  const text = typeof header === 'string' ? header : '';
  const left = /;\s*r=(\d{1,15})(?=;|,|\s|$)/.exec(text)?.[1];
  const seconds = /;\s*t=(\d{1,9})(?=;|,|\s|$)/.exec(text)?.[1];
  if (left === undefined || seconds === undefined) return null;
  return { remaining: Number(left), resetAtMs: clamped(nowMs + Number(seconds) * 1000, nowMs) };
}

function clamped(atMs: number, nowMs: number): number {
  return Math.min(atMs, nowMs + MAX_WAIT_MS);
}
