import { BatonError } from '../../domain/errors.js';
import { LabelStates, labelStatesOf, type OwnStates } from '../label-states.js';
import { ProviderSettings, type RawToolMode, type Token } from '../provider-settings.js';
import type { TrackerOptions } from '../registry.js';

export const KIND = 'github';
export const OPEN = 'open';
export const CLOSED = 'closed';
export const DEFAULTS = { activeStates: [OPEN], terminalStates: [CLOSED] };
const OWN_STATES: OwnStates = { tracker: 'GitHub', open: OPEN, closed: CLOSED };
const KEYS = ['repo', 'endpoint', 'token', 'assignee', 'state_labels', 'raw_tool'];
const ALIASES = { api_url: 'endpoint' };
const DEFAULT_ENDPOINT = 'https://api.github.com';
const VARIABLES = ['GITHUB_TOKEN', 'GH_TOKEN'];

export interface GithubSettings {
  readonly repo: RepoName;
  /** The root of the API. */
  readonly endpoint: URL;
  readonly token: Token;
  /** A login, or `me`. */
  readonly assignee: string | null;
  readonly states: LabelStates;
  readonly rawTool: RawToolMode;
}

export interface RepoName {
  readonly owner: string;
  readonly name: string;
}

/** Throws `invalid_tracker_config` and `missing_tracker_secret`. */
export function readGithubSettings(options: Pick<TrackerOptions, 'config' | 'secret'>): GithubSettings {
  const settings = new ProviderSettings(options, KEYS, ALIASES);
  return {
    repo: repoOf(settings),
    endpoint: apiOf(settings),
    token: settings.token('token', VARIABLES),
    assignee: settings.text('assignee')?.replace(/^@/, '') ?? null,
    states: new LabelStates(OWN_STATES, labelStatesOf(settings, OWN_STATES)),
    rawTool: settings.rawTool('off'),
  };
}

/** Strict, since it becomes part of every path. */
function repoOf(settings: ProviderSettings): RepoName {
  const written = settings.needText('repo', 'owner/name');
  const [, owner, name] = /^([A-Za-z0-9][A-Za-z0-9_-]{0,99})\/([A-Za-z0-9._-]{1,100})$/.exec(written) ?? [];
  if (owner === undefined || name === undefined || /^\.{1,2}$|\.git$/i.test(name))
    throw settings.wrong('repo', 'must be owner/name, not an address, and without `.git`');
  return { owner, name };
}

function apiOf(settings: ProviderSettings): URL {
  const endpoint = settings.endpoint('endpoint', DEFAULT_ENDPOINT);
  if (!/^(?:www\.)?github\.com$/.test(endpoint.hostname)) return endpoint;
  const message = `${settings.nameOf('endpoint')} is the address of GitHub's pages. Remove it, or write ${DEFAULT_ENDPOINT}, the address of its API.`;
  throw new BatonError('invalid_tracker_config', message);
}
