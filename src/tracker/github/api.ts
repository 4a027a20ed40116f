import type { IncomingHttpHeaders } from 'node:http';
import type { TrackerConfig } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import { type Fields, fieldsOf, listOf, textOf } from '../../domain/json.js';
import { graphql } from '../http/graphql.js';
import { quotaIn, resetOf, tooManyRequests } from '../http/limits.js';
import { type HttpReading, TrackerHttp } from '../http/tracker-http.js';
import type { Token } from '../provider-settings.js';
import { writeRestPath } from '../raw-tool.js';
import type { RepoName } from './settings.js';

interface GithubApiOptions {
  /** From `endpointOf`. */
  readonly endpoint: URL;
  readonly repo: RepoName;
  readonly token: Token;
  mask(text: string): string;
}

export const GITHUB = 'GitHub';
/** GitHub asks clients to send few requests at a time. */
export const AT_ONCE = 6;
const githubQuota = quotaIn('x-ratelimit-remaining', 'x-ratelimit-reset', 'seconds');

/** The paths of GitHub's API, and its HTTP client. */
export class GithubApi {
  readonly repo: RepoName;
  readonly mask: (text: string) => string;
  readonly graphqlPath: string;
  readonly #origin: string;
  /** `/api/v3` on GitHub Enterprise Server. */
  readonly #root: string;
  readonly #http: TrackerHttp;

  constructor({ endpoint, repo, token, mask }: GithubApiOptions) {
    this.repo = repo;
    this.mask = mask;
    this.#origin = endpoint.origin;
    this.#root = endpoint.pathname.replace(/\/$/, '');
    this.graphqlPath = `${this.#root.replace(/\/v3$/, '')}/graphql`;
    this.#http = new TrackerHttp({
      name: GITHUB,
      // GraphQL is not below the REST root of an Enterprise Server, so the base is the bare host.
      base: new URL(endpoint.origin),
      headers: {
        accept: 'application/vnd.github+json',
        'x-github-api-version': '2022-11-28',
        authorization: `Bearer ${token.value}`,
      },
      tokenFrom: token.from,
      readQuota: githubQuota,
      mask,
      isRateLimit,
      isCachedFree: true,
    });
  }

  /** `owner/name` */
  get fullName(): string {
    return `${this.repo.owner}/${this.repo.name}`;
  }

  reading(signal: AbortSignal): HttpReading {
    return this.#http.reading(signal);
  }

  /** A path below the root of the API. */
  path(...segments: readonly (string | number)[]): string {
    return `${this.#root}${writeRestPath(segments.map(String))}`;
  }

  /** A path below the repository. */
  repoPath(...segments: readonly (string | number)[]): string {
    return this.path('repos', this.repo.owner, this.repo.name, ...segments);
  }

  url(path: string): URL {
    return new URL(`${this.#origin}${path}`);
  }

  /** GitHub names the repository by its number in the addresses of further pages. */
  isBelowRepo({ origin, pathname }: URL, segments: readonly (string | number)[]): boolean {
    if (origin !== this.#origin) return false;
    if (pathname === this.repoPath(...segments)) return true;
    const root = `${this.#root}/repositories/`;
    if (!pathname.startsWith(root)) return false;
    return pathname.slice(root.length).replace(/^\d+(?=\/)/, '') === writeRestPath(segments.map(String));
  }

  close(): void {
    this.#http.close();
  }
}

/** Besides 429 GitHub uses 403, which also stands for a missing permission. */
function isRateLimit(status: number, headers: IncomingHttpHeaders, text: string): boolean {
  if (status !== 403) return false;
  const isUsedUp = headers['x-ratelimit-remaining'] === '0';
  return isUsedUp || headers['retry-after'] !== undefined || /rate limit|abuse detection/i.test(text);
}

/** Nodes of GitHub's GraphQL API, in the order of their ids. A node that does not exist has no fields. */
export async function readNodes(
  api: GithubApi,
  reading: HttpReading,
  query: string,
  ids: readonly string[],
): Promise<readonly Fields[]> {
  const { nodes } = await graphql({
    ...{ reading, name: GITHUB, path: api.graphqlPath, query, variables: { ids } },
    mask: (text) => api.mask(text),
    classify: (error, headers) => (isLimit(error) ? limited(api, headers) : null),
    isShownInData: ({ type, path }) => type === 'NOT_FOUND' && listOf(path)[0] === 'nodes',
  });
  if (Array.isArray(nodes) && nodes.length === ids.length) return nodes.map(fieldsOf);
  const message = `${GITHUB} did not send the ${ids.length} nodes of a query. Check tracker.provider.endpoint.`;
  throw new BatonError('tracker_response', message);
}

/** REST calls a bot `name[bot]`. GraphQL calls it `name`, which may be a person's login, too. `null`: the account does not exist any more. */
export function loginIn(actor: unknown): string | null {
  const { __typename, login } = fieldsOf(actor);
  const name = textOf(login);
  return name !== null && __typename === 'Bot' ? `${name}[bot]` : name;
}

/** The type of the error changed over the years, and the secondary limit has none. */
function isLimit({ type, message }: Fields): boolean {
  return type === 'RATE_LIMITED' || type === 'RATE_LIMIT' || /rate limit/i.test(textOf(message) ?? '');
}

function limited({ graphqlPath }: GithubApi, headers: IncomingHttpHeaders): BatonError {
  const where = { name: GITHUB, method: 'POST', path: graphqlPath, tokenFrom: '' };
  return tooManyRequests(where, resetOf(headers, githubQuota, Date.now()));
}

export interface RepositoryFacts {
  readonly fullName: string;
  readonly isPublic: boolean;
  readonly hasIssues: boolean;
  readonly isArchived: boolean;
  /** The token's owner may change issues; `null`: unknown. */
  readonly mayChange: boolean | null;
}

/** The settings that keep strangers out. */
type Gate = Pick<TrackerConfig, 'requiredLabels' | 'trust'>;

const GOOD_FOR_MS = 10 * 60_000;

/**
 * Checks that the repository exists, has its configured name, and does not give strangers work to agents by mistake. A good result holds for ten minutes, or until
 * required labels or trust change.
 */
export class Repository {
  #admitted: { readonly by: string; readonly atMs: number } | null = null;

  constructor(
    private readonly api: GithubApi,
    private readonly nowMs: () => number,
  ) {}

  /** Throws `invalid_tracker_config` when it does not exist or was renamed. */
  async read(reading: HttpReading): Promise<RepositoryFacts> {
    const { api } = this;
    const { status, body } = await reading.get(api.repoPath(), { isConditional: true, accept: [404] });
    if (status === 404) throw notFound(api);
    const facts = factsIn(body);
    if (facts.fullName.toLowerCase() !== api.fullName.toLowerCase()) throw renamed(api, facts);
    return facts;
  }

  /** Throws `invalid_tracker_config` when strangers could start agents and the workflow does not say that they may. */
  async admit(reading: HttpReading, gate: Gate): Promise<void> {
    const { nowMs } = this;
    if (this.#admitted?.by !== keyOf(gate) || nowMs() - this.#admitted.atMs >= GOOD_FOR_MS)
      await this.admitNow(reading, gate);
  }

  /** The same, without the remembered result. */
  async admitNow(reading: HttpReading, gate: Gate): Promise<RepositoryFacts> {
    const { nowMs } = this;
    const facts = await this.read(reading);
    if (facts.isPublic && gate.requiredLabels.length === 0 && gate.trust === null) throw openToAll(facts);
    this.#admitted = { by: keyOf(gate), atMs: nowMs() };
    return facts;
  }

  /** GitHub answers 404 for everything that a token may not see. A missing issue counts as gone only while its repository can be read. */
  async proveGone(reading: HttpReading): Promise<void> {
    const { hasIssues, fullName } = await this.read(reading);
    if (hasIssues) return;
    const message = `Issues are switched off in ${fullName}. Switch them on in its settings, or choose another tracker.provider.repo.`;
    throw new BatonError('invalid_tracker_config', message);
  }
}

function keyOf({ requiredLabels, trust }: Gate): string {
  return JSON.stringify([requiredLabels, trust]);
}

function factsIn(body: unknown): RepositoryFacts {
  const { full_name, private: isPrivate, visibility, has_issues, archived, permissions } = fieldsOf(body);
  const fullName = textOf(full_name);
  if (fullName === null || typeof isPrivate !== 'boolean') {
    const message = `${GITHUB} did not send a repository. Check tracker.provider.endpoint.`;
    throw new BatonError('tracker_response', message);
  }
  const { push, triage } = fieldsOf(permissions);
  return {
    fullName,
    isPublic: !isPrivate || visibility === 'public',
    hasIssues: has_issues !== false,
    isArchived: archived === true,
    mayChange: typeof push === 'boolean' ? push || triage === true : null,
  };
}

function notFound({ fullName }: GithubApi): BatonError {
  const message = `${GITHUB} shows no repository ${fullName} to this token. Check tracker.provider.repo, and that the token may read that repository and its issues: GitHub hides everything else.`;
  return new BatonError('invalid_tracker_config', message);
}

function renamed({ fullName }: GithubApi, facts: RepositoryFacts): BatonError {
  const message = `The repository ${fullName} is called ${facts.fullName} now, and GitHub takes no changes under the old name. Write \`repo: ${facts.fullName}\` under tracker.provider.`;
  return new BatonError('invalid_tracker_config', message);
}

function openToAll({ fullName }: RepositoryFacts): BatonError {
  const message = `${fullName} is public: anyone can write issues there. Set tracker.required_labels to a label that only members can give, or set tracker.trust (members, anyone, or a list of logins).`;
  return new BatonError('invalid_tracker_config', message);
}
