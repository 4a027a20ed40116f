import type { IncomingHttpHeaders } from 'node:http';
import { BatonError } from '../../domain/errors.js';
import { stateKey } from '../../domain/issue.js';
import { type Fields, fieldsOf, textOf } from '../../domain/json.js';
import type { RateLimit } from '../../domain/ports.js';
import { numberIn, type ReadQuota, saidIn } from '../http/limits.js';
import { type HttpAnswer, type HttpReading, type HttpRequest, TrackerHttp } from '../http/tracker-http.js';
import type { JiraSettings } from './settings.js';

export const API = '/rest/api/3';

/** Jira over HTTP, below `/rest/api/3`. */
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

/** The requests of one read or change. */
export class JiraCalls {
  #me: Fields | null = null;

  constructor(
    private readonly reading: HttpReading,
    private readonly tokenFrom: string,
    private readonly mask: (text: string) => string,
  ) {}

  get(path: string, accept: readonly number[] = []): Promise<HttpAnswer> {
    return this.ask({ path: `${API}${path}`, accept });
  }

  post(path: string, body: unknown, accept: readonly number[] = []): Promise<HttpAnswer> {
    return this.ask({ method: 'POST', path: `${API}${path}`, body, accept });
  }

  async ask(request: HttpRequest): Promise<HttpAnswer> {
    const answer = await this.reading.ask(request);
    // To a token that has expired Jira answers as to a stranger, with 200 and without issues.
    if (/FAILED|DENIED/i.test(String(answer.headers['x-seraph-loginreason'] ?? ''))) throw this.#stranger();
    return answer;
  }

  /** The account of the token. Throws `tracker_auth` when Jira does not know us: then nothing that it does not show is proven gone. */
  async whoAmI(): Promise<Fields> {
    if (this.#me !== null) return this.#me;
    const me = fieldsOf((await this.get('/myself')).body);
    if (textOf(me.accountId) === null) throw misshapen('the account of the token', 'has no accountId');
    this.#me = me;
    return me;
  }

  /** What Jira says about a refusal. */
  said({ body }: Pick<HttpAnswer, 'body'>): string {
    return body === null ? '' : saidIn(JSON.stringify(body), this.mask);
  }

  get rateLimit(): { readonly rateLimit?: RateLimit } {
    return this.reading.rateLimit;
  }

  #stranger(): BatonError {
    const message =
      `Jira does not accept the token of ${this.tokenFrom}: it is wrong, was revoked or has expired, or tracker.provider.email is another account's. ` +
      `Put a good token into ${this.tokenFrom} and restart.`;
    return new BatonError('tracker_auth', message, { status: 401 });
  }
}

/** An answer that is not what the documentation of Jira says. */
export function misshapen(what: string, problem: string): BatonError {
  const message = `Jira answered, but ${what} ${problem}. Check tracker.provider.endpoint, and whether a proxy is in between.`;
  return new BatonError('tracker_response', message);
}

/** The token alone is known to the mask; what is sent is the base64 of more than the token. */
function withoutCredentials(text: string, authorization: string): string {
  const sent = authorization.replace(/^\w+ /, '').replace(/=+$/, '');
  return text.replaceAll(sent, '***').replaceAll(encodeURIComponent(sent), '***');
}

/** A reset in a year is a mistake of somebody's clock. */
const MAX_WAIT_MS = 24 * 3_600_000;

/**
 * What Jira tells of its limits. `X-RateLimit-Remaining` comes with every answer and counts within a second; it means something only beside
 * `X-RateLimit-Reset`, which is a time as ISO 8601 writes it. Tokens of apps have an hourly budget in `RateLimit: "name";r=left;t=seconds`.
 */
export const readJiraQuota: ReadQuota = (headers, nowMs) => {
  const told = [
    byCount(headers, nowMs),
    byBudget(headers.ratelimit, nowMs),
    byBudget(headers['beta-ratelimit'], nowMs),
  ];
  return told.reduce((scarcest, quota) => {
    if (quota === null || quota.resetAtMs <= nowMs) return scarcest;
    return scarcest === null || quota.remaining < scarcest.remaining ? quota : scarcest;
  }, null);
};

type Quota = ReturnType<ReadQuota>;

function byCount(headers: IncomingHttpHeaders, nowMs: number): Quota {
  const remaining = numberIn(headers, 'x-ratelimit-remaining');
  const reset = headers['x-ratelimit-reset'];
  const atMs = typeof reset === 'string' && reset.includes('T') ? Date.parse(reset) : Number.NaN;
  return remaining === null || Number.isNaN(atMs) ? null : { remaining, resetAtMs: clamped(atMs, nowMs) };
}

function byBudget(header: string | string[] | undefined, nowMs: number): Quota {
  const told = typeof header === 'string' ? header : '';
  const left = /;\s*r=(\d{1,15})(?=;|,|\s|$)/.exec(told)?.[1];
  const seconds = /;\s*t=(\d{1,9})(?=;|,|\s|$)/.exec(told)?.[1];
  if (left === undefined || seconds === undefined) return null;
  return { remaining: Number(left), resetAtMs: clamped(nowMs + Number(seconds) * 1000, nowMs) };
}

function clamped(atMs: number, nowMs: number): number {
  return Math.min(atMs, nowMs + MAX_WAIT_MS);
}

/** The id or the key of an issue. */
export const ISSUE = /^(?:\d{1,18}|[A-Za-z][A-Za-z0-9_]{0,99}-\d{1,18})$/;
/** The id of anything in Jira. */
export const ID = /^\d{1,18}$/;

export interface JiraProject {
  /** Stays the same when its key is changed. */
  readonly id: string;
  readonly key: string;
  readonly name: string;
  /** Customers write its issues. */
  readonly isServiceDesk: boolean;
}

interface JiraStatus {
  readonly id: string;
  readonly name: string;
}

/** What is looked at, as Jira tells it. */
export interface Place {
  /** `null`: only a JQL says what is looked at. */
  readonly project: JiraProject | null;
  readonly statuses: readonly JiraStatus[];
}

const MAX_AGE_MS = 10 * 60_000;
/** A state that nobody knows is looked for again, but not at every poll. */
const MIN_AGE_MS = 60_000;

/** Keeps what is known of the project and its states: unknown, then known, read again when it is old or a state is missing in it. */
export class PlaceReader {
  #known: { readonly place: Place; readonly atMs: number } | null = null;

  constructor(
    private readonly settings: Pick<JiraSettings, 'project'>,
    private readonly nowMs: () => number,
  ) {}

  get states(): readonly string[] {
    return this.#known === null ? [] : namesOf(this.#known.place.statuses);
  }

  /** As far as it was read already. */
  get known(): Place | null {
    return this.#known?.place ?? null;
  }

  async read(calls: JiraCalls, needed: readonly string[] = []): Promise<Place> {
    const known = this.#known;
    const ageMs = known === null ? Number.POSITIVE_INFINITY : this.nowMs() - known.atMs;
    if (known !== null && ageMs < MAX_AGE_MS) {
      const isComplete = needed.every((state) => statusesNamed(known.place, state).length > 0);
      if (isComplete || ageMs < MIN_AGE_MS) return known.place;
    }
    return this.readAnew(calls);
  }

  forget(): void {
    this.#known = null;
  }

  async readAnew(calls: JiraCalls): Promise<Place> {
    const { project: key } = this.settings;
    const project = key === null ? null : await readProject(calls, key);
    const statuses = await readStatuses(calls, project);
    const place = { project, statuses };
    this.#known = { place, atMs: this.nowMs() };
    return place;
  }
}

export function statusesNamed({ statuses }: Place, state: string): readonly JiraStatus[] {
  return statuses.filter(({ name }) => stateKey(name) === stateKey(state));
}

/** Each name once: types of issues have states of their own with the same names. */
export function namesOf(statuses: readonly JiraStatus[]): readonly string[] {
  const names = new Map<string, string>();
  for (const { name } of statuses) if (!names.has(stateKey(name))) names.set(stateKey(name), name);
  return [...names.values()];
}

/** The error has the status 404 in its details. */
async function readProject(calls: JiraCalls, key: string): Promise<JiraProject> {
  const { status, body } = await calls.get(`/project/${encodeURIComponent(key)}`, [404]);
  if (status === 404) {
    await calls.whoAmI();
    const message = `Jira has no project ${key}, or the account of the token may not see it. Check tracker.provider.project and the permission Browse Projects.`;
    throw new BatonError('tracker_status', message, { status });
  }
  const { id, key: written, name, projectTypeKey } = fieldsOf(body);
  const number = textOf(id);
  const spelt = textOf(written);
  if (number === null || !ID.test(number) || spelt === null)
    throw misshapen(`the project ${key}`, 'has no id or no key');
  return { id: number, key: spelt, name: textOf(name) ?? spelt, isServiceDesk: projectTypeKey === 'service_desk' };
}

async function readStatuses(calls: JiraCalls, project: JiraProject | null): Promise<readonly JiraStatus[]> {
  const { body } = await calls.get(project === null ? '/status' : `/project/${project.id}/statuses`);
  if (!Array.isArray(body)) throw misshapen('the list of states', 'is no list');
  const lists: unknown[] = project === null ? [body] : body.map((type) => fieldsOf(type).statuses);
  const found = new Map<string, JiraStatus>();
  for (const list of lists) {
    if (!Array.isArray(list)) throw misshapen('the list of states', 'lacks those of a type of issues');
    for (const each of list) {
      const { id, name } = fieldsOf(each);
      const number = textOf(id);
      const spelt = textOf(name);
      if (number === null || !ID.test(number) || spelt === null) throw misshapen('a state', 'has no id or no name');
      found.set(number, { id: number, name: spelt });
    }
  }
  if (found.size === 0) throw misshapen('the list of states', 'is empty');
  return [...found.values()];
}
