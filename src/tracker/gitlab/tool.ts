import { fieldsOf } from '../../domain/json.js';
import type { HostTool } from '../../domain/ports.js';
import type { HttpReading } from '../http/tracker-http.js';
import type { RawToolMode } from '../provider-settings.js';
import { MAX_ANSWER_BYTES, parseRestPath, type RawResult, rawTool, ToolRefusal } from '../raw-tool.js';
import type { GitlabApi, Project } from './api.js';
import { holdsQuickAction } from './write.js';

const NAME = 'gitlab_api';
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

interface GitlabApiToolOptions {
  readonly api: GitlabApi;
  readonly project: Project;
  readonly mode: Exclude<RawToolMode, 'off'>;
  stateOf(issueId: string, signal: AbortSignal): Promise<string | null>;
}

/** GitLab's REST API as far as the issues and merge requests of one project go. */
export function gitlabApiTool({ api, project, mode, stateOf }: GitlabApiToolOptions): HostTool {
  const methods = mode === 'read_only' ? METHODS.slice(0, 1) : METHODS;
  return rawTool({
    name: NAME,
    description:
      `Call GitLab's REST API for ${api.project}. The path is below the project and begins with one of: ${REACHABLE.map((each) => `/${each}`).join(', ')}. ` +
      `Example: {"method": "GET", "path": "/issues/12/notes?per_page=10"}. ` +
      (mode === 'read_only' ? 'Only GET is allowed. ' : 'Merge requests can be opened and edited, not merged. ') +
      'To move or comment on your own issue, update_issue is enough.',
    inputSchema: {
      type: 'object',
      properties: {
        method: { type: 'string', enum: [...methods] },
        path: { type: 'string', description: 'Below the project, a query only with GET: /issues/12/notes' },
        ...(mode === 'read_only' ? {} : { body: { type: 'object', description: 'Sent as JSON.' } }),
      },
      required: ['method', 'path'],
      additionalProperties: false,
    },
    mask: (text) => api.mask(text),
    stateOf,
    plan: async ({ method, path, body = null, ...rest }, signal) => {
      const [stranger] = Object.keys(rest);
      if (stranger !== undefined)
        throw new ToolRefusal(`${NAME} takes method, path and body, not ${stranger.slice(0, 100)}.`);
      const known = methods.find((each) => each === method);
      if (known === undefined) throw new ToolRefusal(`method must be one of: ${methods.join(', ')}.`);
      if (typeof path !== 'string') throw new ToolRefusal('path must be a text such as /issues/12/notes.');
      if (known === 'GET' && body !== null) throw new ToolRefusal('GET takes no body.');
      if (typeof body !== 'object' || Array.isArray(body)) throw new ToolRefusal('body must be an object.');
      const { segments, query } = scopedPath({ method: known, path, body }, api.project);
      const reading = api.reading(signal);
      const isMergeRequest = known === 'POST' && segments.join('/') === 'merge_requests';
      const given = isMergeRequest ? { ...body, target_project_id: await targetOf(api, project, reading) } : body;
      const target = `${api.projectPath(...segments)}${query}`;
      return { isChange: known !== 'GET', send: () => send(reading, known, target, given) };
    },
  });
}

/** Said out loud, since a merge request of a fork goes to the project that it was forked from unless told otherwise. */
async function targetOf(api: GitlabApi, project: Project, reading: HttpReading): Promise<number | string> {
  const { id } = await project.facts(reading);
  return id ?? api.project;
}

/** What GitLab says no with is for the agent to read. A redirect is one of those: it would lead out of the project. */
const TOLD = [301, 302, 303, 307, 308, 400, 404, 405, 409, 410, 412, 415, 422];

async function send(
  reading: HttpReading,
  method: (typeof METHODS)[number],
  path: string,
  given: object | null,
): Promise<RawResult> {
  const { status, body } = await reading.ask({
    maxBytes: MAX_ANSWER_BYTES,
    method,
    path,
    accept: TOLD,
    ...(given === null ? {} : { body: given }),
  });
  return { ok: status < 300, body, status };
}

interface ScopedCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body: unknown;
}

interface ScopedPath {
  /** Below the project. */
  readonly segments: readonly string[];
  /** With its `?`, or empty. */
  readonly query: string;
}

/** What an agent may reach, below its project. */
const REACHABLE = ['issues', 'labels', 'milestones', 'boards', 'members', 'merge_requests'];

/** What may be changed below one of them, named one by one, since what GitLab adds later may do anything. */
const TALK = ['notes', 'discussions', 'award_emoji', 'subscribe', 'unsubscribe', 'todo'];
const TIME = ['time_estimate', 'reset_time_estimate', 'add_spent_time', 'reset_spent_time'];
const CHANGEABLE: { readonly [first: string]: readonly string[] } = {
  issues: [...TALK, ...TIME, 'links'],
  merge_requests: [...TALK, ...TIME],
  labels: ['subscribe', 'unsubscribe'],
  milestones: [],
  boards: ['lists'],
};

/** What is listed below these may be of other projects, and is shown with all its text. */
const FOREIGN = ['links', 'related_merge_requests', 'closed_by', 'closes_issues', 'related_issues'];

/** Parameters by which somebody would act as another, with whatever else he is given. */
const IDENTITIES = ['sudo', 'private_token', 'access_token', 'job_token'];
/** An epic belongs to a group, and whoever hangs an issue below one changes it. */
const EPICS = ['epic_id', 'epic_iid'];

/**
 * The part below the project of a path that an agent wrote. Throws `ToolRefusal`: an agent that was talked into something by an issue must not change code, settings,
 * variables or members with the host's token, nor reach another project.
 */
function scopedPath(call: ScopedCall, project: string): ScopedPath {
  const parsed = parseRestPath(call.path);
  if (typeof parsed === 'string') throw new ToolRefusal(`${parsed}: write for instance /issues/12/notes.`);
  const { query } = parsed;
  const segments = belowProject(parsed.segments, project);
  const [first = ''] = segments;
  if (!REACHABLE.includes(first)) {
    const message = `gitlab_api reaches ${REACHABLE.map((each) => `/${each}`).join(', ')} of ${project} and nothing else: no code, no settings, no variables, no other project.`;
    throw new ToolRefusal(message);
  }
  if (segments.some((segment) => segment.includes('/')))
    throw new ToolRefusal('path holds a slash that is written as %2F. Name labels with a slash by their id.');
  // GitLab takes `;` for `&`.
  const given = [...new URLSearchParams(query.replaceAll(';', '&')).keys(), ...Object.keys(fieldsOf(call.body))];
  const identity = given.find((name) => IDENTITIES.includes(plainName(name)));
  if (identity !== undefined) throw new ToolRefusal(`${identity} is not allowed: gitlab_api acts as itself.`);
  if (call.method === 'GET' && FOREIGN.includes(segments[2] ?? ''))
    throw new ToolRefusal(`/${segments[2]} is not shown: it may be of other projects than ${project}.`);
  if (call.method !== 'GET') checkChange(call, segments, query, project);
  return { segments, query };
}

/** What GitLab takes for the name of a parameter: brackets before it count for nothing, and those after it begin a list. */
function plainName(name: string): string {
  const [, plain = ''] = /^[[\]]*([^[\]]*)/.exec(name) ?? [];
  return plain.trim().toLowerCase();
}

/** Both `/issues/12` and `/projects/group%2Fproject/issues/12` are understood. */
function belowProject(segments: readonly string[], project: string): readonly string[] {
  const [projects, which = '', ...rest] = segments;
  if (projects !== 'projects') return segments;
  return which.toLowerCase() === project.toLowerCase() ? rest : [];
}

function checkChange({ method, body }: ScopedCall, segments: readonly string[], query: string, project: string): void {
  const [first = '', , below] = segments;
  const allowed = Object.hasOwn(CHANGEABLE, first) ? CHANGEABLE[first] : undefined;
  if (allowed === undefined) throw new ToolRefusal(`/${first} can only be read.`);
  if (below !== undefined && !allowed.includes(below)) {
    const message = `gitlab_api changes nothing below /${first} but: ${allowed.join(', ') || 'nothing'}. To merge, rebase, approve, move or promote is left to people.`;
    throw new ToolRefusal(message);
  }
  // Which label is to be renamed can be said in the body as well as in the path.
  if (
    ['labels', 'milestones'].includes(first) &&
    below === undefined &&
    !(method === 'POST' && segments.length === 1)
  ) {
    const message = `gitlab_api makes ${first}; to rename, close or delete one, which every issue of the project would feel, is left to people.`;
    throw new ToolRefusal(message);
  }
  const isWord = ['notes', 'discussions'].includes(below ?? '') && !segments.includes('award_emoji');
  if (method === 'DELETE' && (below === undefined || isWord))
    throw new ToolRefusal(`To delete ${segments.join('/')} is left to people: nothing brings it back.`);
  if (query !== '') throw new ToolRefusal('Write what is to be changed into body, not into the path.');
  const target = fieldsOf(body).target_project_id;
  if (target !== undefined && String(target).toLowerCase() !== project.toLowerCase())
    throw new ToolRefusal(`target_project_id must be ${project}, the project of gitlab_api.`);
  const epic = Object.keys(fieldsOf(body)).find((name) => EPICS.includes(plainName(name)));
  if (epic !== undefined) throw new ToolRefusal(`${epic} is not allowed: epics are outside of ${project}.`);
  const { confidential = true } = fieldsOf(body);
  if (method === 'PUT' && confidential !== true)
    throw new ToolRefusal('To show to others what is confidential is left to people.');
  if (holdsQuickAction(body))
    throw new ToolRefusal(
      'A line begins with a slash and a word, which GitLab would carry out as a command. Write it otherwise, for instance in backticks.',
    );
}
