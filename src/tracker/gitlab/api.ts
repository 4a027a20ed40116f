import { quotaIn } from '../http/limits.js';
import { type HttpReading, TrackerHttp } from '../http/tracker-http.js';
import type { Token } from '../provider-settings.js';
import { writeRestPath } from '../rest-path.js';

interface GitlabApiOptions {
  /** The address of the instance, from `endpointOf`. */
  readonly endpoint: URL;
  /** `group/sub/project`, or its number. */
  readonly project: string;
  readonly token: Token;
  mask(text: string): string;
}

export const GITLAB = 'GitLab';

/** Where things are in GitLab's API, and how it is asked. */
export class GitlabApi {
  /** As it was written. */
  readonly project: string;
  readonly mask: (text: string) => string;
  readonly graphqlPath = '/api/graphql';
  readonly #http: TrackerHttp;

  constructor({ endpoint, project, token, mask }: GitlabApiOptions) {
    this.project = project;
    this.mask = mask;
    this.#http = new TrackerHttp({
      name: GITLAB,
      base: endpoint,
      headers: { 'private-token': token.value },
      tokenFrom: token.from,
      readQuota: quotaIn('ratelimit-remaining', 'ratelimit-reset', 'seconds'),
      mask,
    });
  }

  /** The project is named by its number, which stays when it is renamed. */
  get isNumbered(): boolean {
    return /^\d+$/.test(this.project);
  }

  reading(signal: AbortSignal): HttpReading {
    return this.#http.reading(signal);
  }

  /** A path below the root of the API. */
  path(...segments: readonly (string | number)[]): string {
    return `/api/v4${writeRestPath(segments.map(String))}`;
  }

  /** A path below the project, whose slashes are written as %2F. */
  projectPath(...segments: readonly (string | number)[]): string {
    return this.path('projects', this.project, ...segments);
  }

  close(): void {
    this.#http.close();
  }
}
