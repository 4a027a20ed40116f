import type { Trust } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import { endpointOf, ProviderSettings, type RawToolMode, type Token } from '../provider-settings.js';
import type { TrackerOptions } from '../registry.js';

export const KIND = 'linear';
/** The states of a new Linear team. */
export const DEFAULTS = {
  activeStates: ['Todo', 'In Progress'],
  terminalStates: ['Closed', 'Cancelled', 'Canceled', 'Duplicate', 'Done'],
};
/** Only members of the workspace can write in Linear. */
export const DEFAULT_TRUST: Trust = 'anyone';
const KEYS = ['project_slug', 'team', 'endpoint', 'api_key', 'assignee', 'raw_tool'];
const DEFAULT_ENDPOINT = 'https://api.linear.app/graphql';
const VARIABLE = 'LINEAR_API_KEY';
/** OpenAI's Symphony reads the assignee from this variable when WORKFLOW.md names none. */
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
  /** Shown behind the name when it does not come from WORKFLOW.md: ` (LINEAR_ASSIGNEE)`. */
  readonly from: string;
}

export interface ProjectSlug {
  /** Possible values of `slugId`: the last part of the written slug, and the whole slug. */
  readonly candidates: readonly [string, ...string[]];
}

/** Throws `invalid_tracker_config` and `missing_tracker_secret`. */
export function readLinearSettings(options: Pick<TrackerOptions, 'config' | 'secret' | 'env'>): LinearSettings {
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
    // As in Symphony, LINEAR_API_KEY is also the fallback for a named variable that is not set.
    token: settings.token('api_key', [VARIABLE], [VARIABLE]),
    project,
    team,
    assignee: assigneeOf(settings, options),
    // GraphQL cannot be limited to a project. Workflows in Symphony's form were written for an agent that has this tool.
    rawTool: settings.rawTool(options.config.isFlatForm ? 'on' : 'off'),
  };
}

/** Names the tracker by host and project. It is the same however the slug is written. */
export function scopeName({ endpoint, project, team }: Pick<LinearSettings, 'endpoint' | 'project' | 'team'>): string {
  const targets = [
    ...(project === null ? [] : [`project/${project.candidates[0]}`]),
    ...(team === null ? [] : [`team/${team}`]),
  ];
  return `${KIND}:${endpoint.host}/${targets.join('/')}`;
}

function addressOf(written: string): URL {
  const endpoint = endpointOf(written, 'tracker.provider.endpoint');
  if (endpoint.pathname === '/') endpoint.pathname = '/graphql';
  return endpoint;
}

/** Accepts the bare id, the slug with the name in front, and the address of the project page. */
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

/** As in Symphony, LINEAR_ASSIGNEE is the fallback for a missing key and for a named variable that is not set. */
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
  throw settings.wrong('team', 'must be the key of a team, the prefix of its issues, such as ENG');
}
