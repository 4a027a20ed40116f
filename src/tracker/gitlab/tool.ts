import type { HostTool } from '../../domain/ports.js';
import type { HttpReading } from '../http/tracker-http.js';
import type { RawToolMode } from '../provider-settings.js';
import { MAX_ANSWER_BYTES, type RawResult, rawTool, ToolRefusal } from '../raw-tool.js';
import type { GitlabApi } from './api.js';
import type { Project } from './project.js';
import { REACHABLE, scopedPath } from './tool-scope.js';

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
