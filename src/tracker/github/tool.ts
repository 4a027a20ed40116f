import type { HostTool } from '../../domain/ports.js';
import type { HttpReading } from '../http/tracker-http.js';
import type { RawToolMode } from '../provider-settings.js';
import { MAX_ANSWER_BYTES, type RawResult, rawTool, ToolRefusal } from '../raw-tool.js';
import type { GithubApi } from './api.js';
import { REACHABLE, scopedPath } from './tool-scope.js';

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
