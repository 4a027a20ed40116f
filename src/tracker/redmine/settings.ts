import type { Trust } from '../../domain/config.js';
import { endpointOf, ProviderSettings, type RawToolMode, type Token } from '../provider-settings.js';
import type { TrackerOptions } from '../registry.js';

export const KIND = 'redmine';
/** Redmine's default statuses. "Resolved" is in neither list: it waits for a person. */
export const DEFAULTS = { activeStates: ['New', 'In Progress'], terminalStates: ['Closed', 'Rejected'] };
/** Most installations admit only users with an account. */
export const DEFAULT_TRUST: Trust = 'anyone';
const KEYS = ['endpoint', 'project', 'api_key', 'assignee', 'include_subprojects', 'label_fields', 'raw_tool'];
const VARIABLES = ['REDMINE_API_KEY'];

export interface RedmineSettings {
  readonly base: URL;
  readonly token: Token;
  readonly scope: Scope;
  readonly assignee: string | null;
  /** Custom fields whose values are labels; empty: all fields with several values. */
  readonly labelFields: readonly string[];
  readonly rawTool: RawToolMode;
}

/** The project to read, by identifier or number. */
export interface Scope {
  readonly project: string;
  readonly withSubprojects: boolean;
}

/** Throws `invalid_tracker_config` and `missing_tracker_secret`. */
export function readRedmineSettings(options: Pick<TrackerOptions, 'config' | 'secret'>): RedmineSettings {
  const settings = new ProviderSettings(options, KEYS);
  const endpoint = settings.needText('endpoint', 'https://redmine.example.org');
  const withSubprojects = options.config.provider.include_subprojects ?? false;
  if (typeof withSubprojects !== 'boolean') throw settings.wrong('include_subprojects', 'must be true or false');
  return {
    base: endpointOf(endpoint, 'tracker.provider.endpoint'),
    scope: { project: projectOf(settings), withSubprojects },
    labelFields: settings.list('label_fields'),
    rawTool: settings.rawTool('off'),
    assignee: settings.text('assignee'),
    token: settings.token('api_key', VARIABLES),
  };
}

/** Strict, because the project becomes part of paths. */
function projectOf(settings: ProviderSettings): string {
  const project = settings.needText('project', 'my-app');
  if (/^[a-z0-9][a-z0-9_-]{0,99}$/.test(project)) return project;
  throw settings.wrong('project', "must be the project's identifier, as in the address of its page, or its number");
}
