import type { IncomingHttpHeaders } from 'node:http';
import { quotaIn } from '../http/limits.js';
import { type HttpReading, TrackerHttp } from '../http/tracker-http.js';
import type { Token } from '../provider-settings.js';
import { writeRestPath } from '../rest-path.js';

export interface RepoName {
  readonly owner: string;
  readonly name: string;
}

interface GithubApiOptions {
  /** From `endpointOf`. */
  readonly endpoint: URL;
  readonly repo: RepoName;
  readonly token: Token;
  mask(text: string): string;
}

export const GITHUB = 'GitHub';
/** GitHub asks for few requests at a time. */
export const AT_ONCE = 6;
export const githubQuota = quotaIn('x-ratelimit-remaining', 'x-ratelimit-reset', 'seconds');

/** Where things are in GitHub's API, and how it is asked. */
export class GithubApi {
  readonly repo: RepoName;
  readonly mask: (text: string) => string;
  readonly graphqlPath: string;
  readonly #origin: string;
  /** `/api/v3` where GitHub Enterprise Server is asked. */
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
      // GraphQL is not below the REST root of an Enterprise Server, so that the base is the bare host.
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

  /** As people write it. */
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

  /** GitHub names repositories by number in the addresses of further pages, whatever name they were asked by. */
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

/** Besides 429 GitHub says so by 403, which stands for a missing permission as well. */
function isRateLimit(status: number, headers: IncomingHttpHeaders, text: string): boolean {
  if (status !== 403) return false;
  const isUsedUp = headers['x-ratelimit-remaining'] === '0';
  return isUsedUp || headers['retry-after'] !== undefined || /rate limit|abuse detection/i.test(text);
}
