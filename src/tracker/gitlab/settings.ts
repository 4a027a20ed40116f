import { LabelStates, labelStatesOf, type OwnStates } from '../label-states.js';
import { ProviderSettings, type RawToolMode, type Token } from '../provider-settings.js';
import type { TrackerOptions } from '../registry.js';

export const KIND = 'gitlab';
export const OPENED = 'opened';
export const CLOSED = 'closed';
export const DEFAULTS = { activeStates: [OPENED], terminalStates: [CLOSED] };
const OWN_STATES: OwnStates = { tracker: 'GitLab', open: OPENED, closed: CLOSED };
const KEYS = ['project', 'endpoint', 'token', 'assignee', 'state_labels', 'raw_tool'];
const ALIASES = { api_url: 'endpoint', project_path: 'project', api_key: 'token' };
const DEFAULT_ENDPOINT = 'https://gitlab.com';
const VARIABLES = ['GITLAB_TOKEN', 'GITLAB_PAT'];

export interface GitlabSettings {
  /** `group/sub/project`, or its number. */
  readonly project: string;
  /** The address of the instance. */
  readonly endpoint: URL;
  readonly token: Token;
  /** A username, or `me`. */
  readonly assignee: string | null;
  readonly states: LabelStates;
  readonly rawTool: RawToolMode;
}

/** Throws `invalid_tracker_config` and `missing_tracker_secret`. */
export function readGitlabSettings(options: Pick<TrackerOptions, 'config' | 'secret'>): GitlabSettings {
  const settings = new ProviderSettings(options, KEYS, ALIASES);
  return {
    project: projectOf(settings),
    endpoint: instanceOf(settings),
    token: settings.token('token', VARIABLES),
    assignee: settings.text('assignee')?.replace(/^@/, '') ?? null,
    states: statesOf(settings),
    rawTool: settings.rawTool('off'),
  };
}

/** Strict, because the project becomes part of every path. */
function projectOf(settings: ProviderSettings): string {
  const written = settings.needText('project', 'group/project');
  const isNumber = /^[1-9]\d{0,14}$/.test(written);
  const isPath = /^[A-Za-z0-9_][A-Za-z0-9_.-]*(?:\/[A-Za-z0-9_][A-Za-z0-9_.-]*)+$/.test(written);
  if (isNumber || (isPath && written.length <= 500 && !/\.git$/i.test(written))) return written;
  throw settings.wrong('project', 'must be group/project or a number, not an address, and without `.git`');
}

/** Accepts the address of the API, too. */
function instanceOf(settings: ProviderSettings): URL {
  const endpoint = settings.endpoint('endpoint', DEFAULT_ENDPOINT);
  endpoint.pathname = endpoint.pathname.replace(/\/api\/v4$/, '');
  return endpoint;
}

/** GitLab separates labels by commas. */
function statesOf(settings: ProviderSettings): LabelStates {
  const states = labelStatesOf(settings, OWN_STATES);
  const invalid = states.find(({ label }) => label.includes(','));
  if (invalid) throw settings.wrong('state_labels', `names the label "${invalid.label}": no label has a comma`);
  return new LabelStates(OWN_STATES, states);
}
