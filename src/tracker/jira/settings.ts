import type { Trust } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import { endpointOf, ProviderSettings, type RawToolMode } from '../provider-settings.js';
import type { TrackerOptions } from '../registry.js';

export const KIND = 'jira';
export const DEFAULTS = { activeStates: ['To Do', 'In Progress'], terminalStates: ['Done'] };
export const DEFAULT_TRUST: Trust = 'anyone';
const KEYS = ['endpoint', 'site', 'email', 'api_token', 'auth', 'project', 'jql', 'assignee', 'raw_tool'];
const ALIASES = { base_url: 'endpoint', project_key: 'project' };
/** OpenAI's Symphony reads these when WORKFLOW.md names no address or account. */
const ENDPOINT_VARIABLE = 'JIRA_BASE_URL';
const EMAIL_VARIABLE = 'JIRA_EMAIL';

export interface JiraSettings {
  readonly base: URL;
  /** The base address of issue pages, without a trailing slash; null when unknown. */
  readonly site: string | null;
  /** The `Authorization` header. */
  readonly authorization: string;
  /** The name of the variable or key that holds the token. */
  readonly tokenFrom: string;
  readonly email: string | null;
  readonly project: string | null;
  /** `tracker.provider.jql` as one clause. */
  readonly ownClause: string | null;
  readonly assignee: string | null;
  readonly rawTool: RawToolMode;
}

/** Throws `invalid_tracker_config` and `missing_tracker_secret`. */
export function readJiraSettings(options: Pick<TrackerOptions, 'config' | 'secret' | 'env'>): JiraSettings {
  const settings = new ProviderSettings(options, KEYS, ALIASES);
  const inherited = options.env[ENDPOINT_VARIABLE];
  const endpoint = settings.needText('endpoint', 'https://yourteam.atlassian.net', inherited);
  const base = endpointOf(endpoint, settings.nameOf('endpoint'));
  const project = projectIn(settings);
  const jql = settings.text('jql');
  if (project === null && jql === null) {
    const message = 'jira needs tracker.provider.project, the key of a project such as ABC, or tracker.provider.jql.';
    throw new BatonError('invalid_tracker_config', message);
  }
  const clause = jql === null ? null : ownClause(jql);
  const rawTool = settings.rawTool('off');
  if (rawTool !== 'off' && project === null) {
    const message = 'tracker.provider.raw_tool needs tracker.provider.project: a tool cannot be restricted to a JQL.';
    throw new BatonError('invalid_tracker_config', message);
  }
  const isBearer = authIn(settings) === 'bearer';
  const email = isBearer
    ? settings.text('email')
    : settings.needText('email', 'baton@example.org', options.env[EMAIL_VARIABLE]);
  if (!isBearer && email?.includes(':')) throw settings.wrong('email', 'must be the address of an account');
  const token = settings.token('api_token', ['JIRA_API_TOKEN']);
  const basic = () => `Basic ${Buffer.from(`${email}:${token.value}`).toString('base64')}`;
  return {
    ...{ base, site: siteOf(settings, base), email, project, rawTool },
    authorization: isBearer ? `Bearer ${token.value}` : basic(),
    tokenFrom: token.from,
    ownClause: clause,
    assignee: settings.text('assignee'),
  };
}

function projectIn(settings: ProviderSettings): string | null {
  const written = settings.text('project');
  if (written === null) return null;
  if (!/^[A-Za-z][A-Za-z0-9_]{0,99}$/.test(written))
    throw settings.wrong('project', 'must be the key of a project, such as ABC');
  return written.toUpperCase();
}

function authIn(settings: ProviderSettings): 'basic' | 'bearer' {
  const written = settings.text('auth') ?? 'basic';
  if (written === 'basic' || written === 'bearer') return written;
  throw settings.wrong('auth', 'must be basic or bearer');
}

/** Tokens with scopes use Atlassian's API gateway, which has no issue pages. */
const GATEWAY = 'api.atlassian.com';

function siteOf(settings: ProviderSettings, base: URL): string | null {
  const written = settings.text('site');
  if (written === null && base.hostname === GATEWAY) return null;
  const site = written === null ? base : endpointOf(written, 'tracker.provider.site');
  return site.href.replace(/\/+$/, '');
}

/** A text as a JQL literal: quotation marks and line ends are escaped. */
export function jqlText(text: string): string {
  const escaped = text.replace(/["\\]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\r', '\\r');
  return `"${escaped}"`;
}

/** A JQL of complete clauses, oldest issue first. */
export function joinClauses(clauses: readonly string[]): string {
  return `${clauses.join(' AND ')} ORDER BY created ASC`;
}

/**
 * `tracker.provider.jql` as one clause among others. Throws `invalid_tracker_config` for a JQL that could leave its parentheses
 * and widen the scope, and for one with an ORDER BY.
 */
export function ownClause(jql: string): string {
  const bare = withoutLiterals(jql);
  if (bare === null) throw wrong('has a quotation mark that is not closed');
  if (/\border\s+by\b/i.test(bare)) throw wrong('has an ORDER BY: take it out, Baton sorts the issues itself');
  let depth = 0;
  for (const character of bare) {
    if (character === '(') depth++;
    if (character === ')') depth--;
    if (depth < 0) break;
  }
  if (depth !== 0) throw wrong('has unbalanced parentheses');
  return `(${jql})`;
}

/** Without the literals in quotation marks; `null` when one is not closed. */
function withoutLiterals(jql: string): string | null {
  let bare = '';
  let open: string | null = null;
  for (let at = 0; at < jql.length; at++) {
    const character = jql.charAt(at);
    if (character === '\\') at++;
    else if (open !== null) open = character === open ? null : open;
    else if (character === '"' || character === "'") open = character;
    else bare += character;
  }
  return open === null ? bare : null;
}

function wrong(problem: string): BatonError {
  return new BatonError('invalid_tracker_config', `tracker.provider.jql ${problem}.`);
}
