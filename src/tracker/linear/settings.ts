import { BatonError } from '../../domain/errors.js';
import { endpointOf, ProviderSettings, type RawToolMode, type Token } from '../provider-settings.js';
import type { TrackerOptions } from '../registry.js';

export const KIND = 'linear';
const KEYS = ['project_slug', 'team', 'endpoint', 'api_key', 'assignee', 'raw_tool'];
const DEFAULT_ENDPOINT = 'https://api.linear.app/graphql';
const VARIABLE = 'LINEAR_API_KEY';
/** OpenAI's Symphony takes the assignee from there where the file names none. */
const ASSIGNEE_VARIABLE = 'LINEAR_ASSIGNEE';

export interface LinearSettings {
  readonly endpoint: URL;
  readonly token: Token;
  readonly project: ProjectSlug | null;
  /** The key of a team, upper case. */
  readonly team: string | null;
  readonly assignee: Assignee | null;
  readonly rawTool: RawToolMode;
}

interface Assignee {
  /** An id, a mail address, a name, or `me`. */
  readonly wanted: string;
  /** Where it comes from when not from the file, for people: ` (LINEAR_ASSIGNEE)`. */
  readonly from: string;
}

export interface ProjectSlug {
  /** What `slugId` may be for what was written: the last part of the slug, and the whole. */
  readonly candidates: readonly [string, ...string[]];
}

/** Throws `invalid_tracker_config` and `missing_tracker_secret`. */
export function linearSettings(options: Pick<TrackerOptions, 'config' | 'secret' | 'env'>): LinearSettings {
  const settings = new ProviderSettings(options, KEYS);
  const project = projectOf(settings);
  const team = teamOf(settings);
  if (project === null && team === null) {
    throw new BatonError(
      'invalid_tracker_config',
      'linear needs tracker.provider.project_slug, the last part of the address of a project (`project_slug: my-project-0123456789ab`), or tracker.provider.team, the key of a team (`team: ENG`).',
    );
  }
  return {
    endpoint: addressOf(settings.text('endpoint') ?? DEFAULT_ENDPOINT),
    // As in Symphony, also where the file names a variable that is not set.
    token: settings.token('api_key', [VARIABLE], [VARIABLE]),
    project,
    team,
    assignee: assigneeOf(settings, options),
    rawTool: settings.rawTool('on'),
  };
}

/** Kind, place and project: the same however the slug is written. */
export function scopeOf({ endpoint, project, team }: Pick<LinearSettings, 'endpoint' | 'project' | 'team'>): string {
  const parts = [
    ...(project === null ? [] : [`project/${project.candidates[0]}`]),
    ...(team === null ? [] : [`team/${team}`]),
  ];
  return `${KIND}:${endpoint.host}/${parts.join('/')}`;
}

function addressOf(written: string): URL {
  const endpoint = endpointOf(written, 'tracker.provider.endpoint');
  if (endpoint.pathname === '/') endpoint.pathname = '/graphql';
  return endpoint;
}

/** People copy what they see: the id alone, the slug with the name in front of it, or the address of the project. */
function projectOf(settings: ProviderSettings): ProjectSlug | null {
  const written = settings.text('project_slug');
  if (written === null) return null;
  const slug = URL.canParse(written) ? (/\/project\/([^/]+)/.exec(new URL(written).pathname)?.[1] ?? '') : written;
  if (!/^[\p{L}\p{N}_.~-]{1,200}$/u.test(slug) && !/^(?:[\w.~-]|%[0-9a-f]{2}){1,600}$/i.test(slug)) {
    const example = 'my-project-0123456789ab';
    throw settings.wrong('project_slug', `must be the last part of the address of a project, such as ${example}`);
  }
  const id = /-([0-9a-f]{12})$/.exec(slug)?.[1];
  return { candidates: id === undefined ? [slug] : [id, slug] };
}

/** As in Symphony LINEAR_ASSIGNEE stands in where the file names nobody, or a variable that is not set. */
function assigneeOf(settings: ProviderSettings, { env }: Pick<TrackerOptions, 'env'>): Assignee | null {
  const inherited = env[ASSIGNEE_VARIABLE]?.trim() ?? '';
  const wanted = settings.text('assignee', inherited);
  if (wanted !== null) return { wanted, from: '' };
  return inherited === '' ? null : { wanted: inherited, from: ` (${ASSIGNEE_VARIABLE})` };
}

function teamOf(settings: ProviderSettings): string | null {
  const written = settings.text('team');
  if (written === null) return null;
  if (/^[A-Za-z][A-Za-z0-9_]{0,49}$/.test(written)) return written.toUpperCase();
  throw settings.wrong('team', 'must be the key of a team as issues begin with it, such as ENG');
}
