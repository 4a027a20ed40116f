import { fieldsOf } from '../../domain/json.js';
import type { HostTool } from '../../domain/ports.js';
import type { HttpReading } from '../http/tracker-http.js';
import type { RawToolMode } from '../provider-settings.js';
import { MAX_ANSWER_BYTES, parseRestPath, type RawResult, rawTool, ToolRefusal } from '../raw-tool.js';
import type { GithubApi, RepoName } from './api.js';

const NAME = 'github_api';
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

interface GithubApiToolOptions {
  readonly api: GithubApi;
  readonly mode: Exclude<RawToolMode, 'off'>;
  stateOf(issueId: string, signal: AbortSignal): Promise<string | null>;
}

/** GitHub's REST API as far as the issues and pull requests of one repository go. */
export function githubApiTool({ api, mode, stateOf }: GithubApiToolOptions): HostTool {
  const methods = mode === 'read_only' ? METHODS.slice(0, 1) : METHODS;
  return rawTool({
    name: NAME,
    description:
      `Call GitHub's REST API for ${api.fullName}. The path is below the repository and begins with one of: ${REACHABLE.map((each) => `/${each}`).join(', ')}. ` +
      `Example: {"method": "GET", "path": "/issues/12/comments?per_page=10"}. ` +
      (mode === 'read_only' ? 'Only GET is allowed. ' : 'Pull requests can be opened and edited, not merged. ') +
      'To move or comment on your own issue, update_issue is enough.',
    inputSchema: {
      type: 'object',
      properties: {
        method: { type: 'string', enum: [...methods] },
        path: { type: 'string', description: 'Below the repository, with its query: /issues/12/labels' },
        ...(mode === 'read_only' ? {} : { body: { type: 'object', description: 'Sent as JSON.' } }),
      },
      required: ['method', 'path'],
      additionalProperties: false,
    },
    mask: (text) => api.mask(text),
    stateOf,
    plan: ({ method, path, body, ...rest }, signal) => {
      const [stranger] = Object.keys(rest);
      if (stranger !== undefined)
        throw new ToolRefusal(`${NAME} takes method, path and body, not ${stranger.slice(0, 100)}.`);
      const known = methods.find((each) => each === method);
      if (known === undefined) throw new ToolRefusal(`method must be one of: ${methods.join(', ')}.`);
      if (typeof path !== 'string') throw new ToolRefusal('path must be a text such as /issues/12/labels.');
      if (known === 'GET' && body !== undefined && body !== null) throw new ToolRefusal('GET takes no body.');
      const { segments, query } = scopedPath({ method: known, path, body }, api.repo);
      const target = `${api.repoPath(...segments)}${query}`;
      return { isChange: known !== 'GET', send: () => send(api.reading(signal), known, target, body) };
    },
  });
}

/** What GitHub says no with is for the agent to read. A redirect is one of those: it would lead out of the repository. */
const TOLD = [301, 302, 303, 307, 308, 400, 404, 405, 409, 410, 412, 415, 422];

async function send(
  reading: HttpReading,
  method: (typeof METHODS)[number],
  path: string,
  given: unknown,
): Promise<RawResult> {
  const { status, body } = await reading.ask({
    ...{ method, path, accept: TOLD, maxBytes: MAX_ANSWER_BYTES },
    ...(given === undefined || given === null ? {} : { body: given }),
  });
  return { ok: status < 300, body, status };
}

/** What an agent may reach, below its repository. */
const REACHABLE = ['issues', 'labels', 'milestones', 'assignees', 'pulls'];

interface ScopedCall {
  readonly method: Method;
  readonly path: string;
  readonly body: unknown;
}

interface ScopedPath {
  /** Below the repository. */
  readonly segments: readonly string[];
  /** With its `?`, or empty. */
  readonly query: string;
}

/**
 * The part below the repository of a path that an agent wrote. Throws `ToolRefusal`: an agent that was talked into something by an issue must not change code, settings
 * or secrets with the host's token, reach another repository, set another agent to work, nor speak for a person who reviews.
 */
function scopedPath({ method, path, body }: ScopedCall, { owner, name }: RepoName): ScopedPath {
  const parsed = parseRestPath(path);
  if (typeof parsed === 'string') throw new ToolRefusal(`${parsed}: write for instance /issues/12/labels.`);
  const { query } = parsed;
  const segments = belowRepo(parsed.segments, `${owner}/${name}`);
  const [first = ''] = segments;
  if (segments.some((segment) => /(?:^|\/)\.{1,2}(?:\/|$)/.test(segment)))
    throw new ToolRefusal('path holds dots between slashes, which somebody might take for a way out.');
  if (!REACHABLE.includes(first)) {
    const message = `github_api reaches ${REACHABLE.map((each) => `/${each}`).join(', ')} of ${owner}/${name} and nothing else: no code, no settings, no secrets, no other repository.`;
    throw new ToolRefusal(message);
  }
  if (method !== 'GET') checkChange(method, segments, query, body);
  else if (first === 'issues' && !isOfThisRepo(segments)) {
    const message = `github_api reads issues with their comments, labels and reactions. Timelines, parents, sub-issues and dependencies may show issues of other repositories.`;
    throw new ToolRefusal(message);
  }
  return { segments, query };
}

/** Both `/issues/12` and `/repos/owner/name/issues/12` are understood. */
function belowRepo(segments: readonly string[], fullName: string): readonly string[] {
  const [repos, owner, name, ...rest] = segments;
  if (repos !== 'repos') return segments;
  return `${owner}/${name}`.toLowerCase() === fullName.toLowerCase() ? rest : [];
}

/** Named one by one: whatever leads from an issue to others shows their whole text, and the token may see more than this repository. */
function isOfThisRepo([, which = '', what = '', ...more]: readonly string[]): boolean {
  if (which === 'comments') return more.length === 0 || more.join('/') === 'reactions';
  if (!/^\d*$/.test(which)) return false;
  return what === '' || (['comments', 'labels', 'reactions'].includes(what) && more.length === 0);
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

interface Change {
  /** Its methods, and its path with `N` for a number and `*` for any part. */
  readonly at: string;
  /** What its body may hold. */
  readonly fields: readonly string[];
}

const PEOPLE = ['assignee', 'assignees'];
const ISSUE = ['title', 'body', 'labels', 'milestone', 'type', ...PEOPLE];
const PULL = ['title', 'body', 'base'];
const PLACE = ['commit_id', 'path', 'position', 'side', 'line', 'start_line', 'start_side', 'subject_type'];

/**
 * What an agent may change, path by path and field by field, since what GitHub adds later may do anything: a field of an assignment sets another agent to work in
 * another repository, a sub-issue may be somebody else's.
 */
const CHANGES: readonly Change[] = [
  { at: 'POST issues', fields: ISSUE },
  { at: 'PATCH issues/N', fields: [...ISSUE, 'state', 'state_reason'] },
  { at: 'POST issues/N/comments', fields: ['body'] },
  { at: 'PATCH issues/comments/N', fields: ['body'] },
  { at: 'POST issues/N/reactions', fields: ['content'] },
  { at: 'POST issues/comments/N/reactions', fields: ['content'] },
  { at: 'DELETE issues/N/reactions/N', fields: [] },
  { at: 'DELETE issues/comments/N/reactions/N', fields: [] },
  { at: 'POST PUT issues/N/labels', fields: ['labels'] },
  { at: 'DELETE issues/N/labels', fields: [] },
  { at: 'DELETE issues/N/labels/*', fields: [] },
  { at: 'POST DELETE issues/N/assignees', fields: ['assignees'] },
  { at: 'PUT issues/N/lock', fields: ['lock_reason'] },
  { at: 'DELETE issues/N/lock', fields: [] },
  { at: 'POST labels', fields: ['name', 'color', 'description'] },
  { at: 'POST milestones', fields: ['title', 'state', 'description', 'due_on'] },
  { at: 'POST pulls', fields: [...PULL, 'head', 'draft', 'issue'] },
  { at: 'PATCH pulls/N', fields: [...PULL, 'state'] },
  { at: 'POST pulls/N/comments', fields: ['body', 'in_reply_to', ...PLACE] },
  { at: 'POST pulls/N/comments/N/replies', fields: ['body'] },
  { at: 'PATCH pulls/comments/N', fields: ['body'] },
  { at: 'POST pulls/comments/N/reactions', fields: ['content'] },
  { at: 'DELETE pulls/comments/N/reactions/N', fields: [] },
  { at: 'POST DELETE pulls/N/requested_reviewers', fields: ['reviewers', 'team_reviewers'] },
];

/** Throws `ToolRefusal`. */
function checkChange(method: Method, segments: readonly string[], query: string, body: unknown): void {
  const path = segments.join('/');
  const change = CHANGES.find(({ at }) => isAt(at, method, segments));
  if (change === undefined) {
    const message = `github_api opens, edits, labels, assigns and comments issues and pull requests, asks for reviewers, and makes labels and milestones. ${method} /${path} is left to people.`;
    throw new ToolRefusal(message);
  }
  // GitHub may read fields out of the query as well.
  if (query !== '') throw new ToolRefusal('Write what is to be changed into body, not into the path.');
  if (body !== undefined && body !== null && (typeof body !== 'object' || Array.isArray(body)))
    throw new ToolRefusal('body must be an object.');
  const given = fieldsOf(body);
  const stranger = Object.keys(given).find((name) => !change.fields.includes(name));
  if (stranger !== undefined) {
    const may = change.fields.length === 0 ? 'nothing' : change.fields.join(', ');
    throw new ToolRefusal(`The body of ${method} /${path} may hold ${may}, not ${stranger.slice(0, 100)}.`);
  }
  if (method !== 'DELETE' && [...PEOPLE, 'reviewers'].some((name) => !isOfPeople(given[name])))
    throw new ToolRefusal('Give work to people, by their logins: to set another agent to work is left to people.');
  if (typeof given.body === 'string' && AGENT_CALL.test(given.body))
    throw new ToolRefusal('To call another agent by its name is left to people: write it without the @.');
}

function isAt(at: string, method: Method, segments: readonly string[]): boolean {
  const words = at.split(' ');
  const parts = words.at(-1)?.split('/') ?? [];
  if (!words.slice(0, -1).includes(method) || parts.length !== segments.length) return false;
  return parts.every((part, n) => {
    const segment = segments[n] ?? '';
    return part === '*' || (part === 'N' ? /^\d+$/.test(segment) : part === segment);
  });
}

/** Whatever works by itself: an app is no person, and GitHub's own agent goes by its bare name, too. */
const AGENT = /\[bot\]$|^copilot\b|(?:swe|code|coding)-agent$/i;
/** A comment on a pull request that names it sets it to work. */
const AGENT_CALL = /(?<![\w/])@copilot\b/i;

function isOfPeople(given: unknown): boolean {
  if (given === undefined || given === null) return true;
  return [given].flat().every((login) => typeof login === 'string' && !AGENT.test(login.trim().replace(/^@/, '')));
}
