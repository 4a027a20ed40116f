import type { IncomingHttpHeaders } from 'node:http';
import { BatonError } from '../../domain/errors.js';
import { fieldsOf, textOf } from '../../domain/json.js';
import { quotaIn } from '../http/limits.js';
import { type HttpReading, TrackerHttp } from '../http/tracker-http.js';
import type { Token } from '../provider-settings.js';
import { writeRestPath } from '../raw-tool.js';
import { type Page, readPages } from '../read-pages.js';

interface GitlabApiOptions {
  /** The address of the instance, from `endpointOf`. */
  readonly endpoint: URL;
  /** `group/sub/project`, or its number. */
  readonly project: string;
  readonly token: Token;
  mask(text: string): string;
}

export const GITLAB = 'GitLab';

/** The paths of GitLab's API, and its HTTP client. */
export class GitlabApi {
  /** As configured. */
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

  /** The project is configured by its number, which stays when it is renamed. */
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

export interface ProjectFacts {
  /** `null`: unknown. */
  readonly id: number | null;
  readonly fullPath: string;
  readonly hasIssues: boolean;
  readonly isArchived: boolean;
  /** The token's level of access; `null`: unknown, for instance to administrators. */
  readonly level: number | null;
}

const GOOD_FOR_MS = 10 * 60_000;

/** Checks that the project exists, has its configured name, and has issues. Its facts are remembered for ten minutes. */
export class Project {
  #facts: ProjectFacts | null = null;
  #readAtMs = 0;

  constructor(
    private readonly api: GitlabApi,
    private readonly nowMs: () => number,
  ) {}

  /** Throws `invalid_tracker_config` when it does not exist or was renamed. */
  async read(reading: HttpReading): Promise<ProjectFacts> {
    const { api } = this;
    const { status, body } = await reading.get(api.projectPath(), { isConditional: true, accept: [404] });
    if (status === 404) throw notFound(api);
    const facts = factsIn(body);
    if (!api.isNumbered && facts.fullPath.toLowerCase() !== api.project.toLowerCase()) throw renamed(api, facts);
    this.#facts = facts;
    this.#readAtMs = this.nowMs();
    return facts;
  }

  /** At most ten minutes old. */
  async facts(reading: HttpReading): Promise<ProjectFacts> {
    const isFresh = this.#facts !== null && this.nowMs() - this.#readAtMs < GOOD_FOR_MS;
    return isFresh && this.#facts ? this.#facts : this.read(reading);
  }

  /** GitLab hides issues that a token may not see. A missing issue counts as gone only while its project can be read and has issues. */
  async proveGone(reading: HttpReading): Promise<void> {
    const { hasIssues, fullPath } = await this.read(reading);
    if (hasIssues) return;
    const message = `Issues are switched off in ${fullPath}. Switch them on in its settings, or choose another tracker.provider.project.`;
    throw new BatonError('invalid_tracker_config', message);
  }
}

function factsIn(body: unknown): ProjectFacts {
  const fields = fieldsOf(body);
  const fullPath = textOf(fields.path_with_namespace);
  if (fullPath === null) {
    const message = `${GITLAB} did not send a project. Check tracker.provider.endpoint.`;
    throw new BatonError('tracker_response', message);
  }
  const { project_access: own, group_access: inherited } = fieldsOf(fields.permissions);
  const levels = [own, inherited].flatMap((access) => {
    const { access_level: level } = fieldsOf(access);
    return typeof level === 'number' ? [level] : [];
  });
  return {
    id: Number.isSafeInteger(fields.id) ? (fields.id as number) : null,
    fullPath,
    hasIssues: fields.issues_enabled !== false && fields.issues_access_level !== 'disabled',
    isArchived: fields.archived === true,
    level: levels.length === 0 ? null : Math.max(...levels),
  };
}

function notFound({ project }: GitlabApi): BatonError {
  const message = `${GITLAB} shows no project ${project} to this token. Check tracker.provider.project, and that the token has the scope api and a role in that project: GitLab hides everything else.`;
  return new BatonError('invalid_tracker_config', message);
}

function renamed({ project }: GitlabApi, { fullPath }: ProjectFacts): BatonError {
  const message = `The project ${project} is called ${fullPath} now, and GitLab takes no changes under the old name. Write \`project: ${fullPath}\` under tracker.provider.`;
  return new BatonError('invalid_tracker_config', message);
}

interface PageOrder {
  /** Below the project. */
  readonly segments: readonly (string | number)[];
  readonly query?: readonly (readonly [name: string, value: string])[];
}

interface ListOrder<Item> extends PageOrder {
  /** Converts a record when its page arrives, before the page is cached. */
  read(value: unknown): Item;
  /** What the conversion depends on besides the record. */
  readonly readBy?: string;
  idOf(item: Item): string | null;
}

const PAGE_SIZE = 100;

/** The names of the project's labels. */
export function readLabels(
  api: GitlabApi,
  reading: HttpReading,
  query: PageOrder['query'] = [],
): Promise<readonly (string | null)[]> {
  return readList(api, reading, {
    ...{ segments: ['labels'], query },
    read: (value) => textOf(fieldsOf(value).name),
    idOf: (name) => name,
  });
}

/** A whole list of the project. */
export function readList<Item>(api: GitlabApi, reading: HttpReading, order: ListOrder<Item>): Promise<readonly Item[]> {
  return readPages<Item, number>({
    name: GITLAB,
    first: 1,
    read: (page) => readPage(api, reading, order, page),
    idOf: order.idOf,
  });
}

/** Throws `tracker_response`: a body that is no list must not pass for an empty one. */
export async function readPage<Item>(
  api: GitlabApi,
  reading: HttpReading,
  { segments, query = [], read, readBy = '' }: Omit<ListOrder<Item>, 'idOf'>,
  page: number,
): Promise<Page<Item, number>> {
  const search = new URLSearchParams([
    ...query.map(([name, value]): [string, string] => [name, value]),
    ['per_page', String(PAGE_SIZE)],
    ['page', String(page)],
  ]);
  const path = `${api.projectPath(...segments)}?${search}`;
  const digest = (body: unknown) => (Array.isArray(body) ? body.map((value) => read(value)) : body);
  const { body, headers } = await reading.get(path, { isConditional: true, digest, digestBy: readBy });
  if (Array.isArray(body)) return { items: body, next: nextPage(headers, page, body.length) };
  const message = `${GITLAB} answered without a list of ${segments.join('/')}. Check tracker.provider.endpoint.`;
  throw new BatonError('tracker_response', message);
}

/** A full page is always followed by another request: its headers may be those of a cached answer. */
function nextPage(headers: IncomingHttpHeaders, page: number, count: number): number | null {
  const next = String(headers['x-next-page'] ?? '').trim();
  if (next === '') return count >= PAGE_SIZE ? page + 1 : null;
  if (next === String(page + 1)) return page + 1;
  const message = `The pages of ${GITLAB} do not fit together: page ${page} is not followed by page ${page + 1}. Baton reads them again at the next poll.`;
  throw new BatonError('tracker_pagination', message);
}
