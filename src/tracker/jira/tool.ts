import { type Fields, fieldsOf, textOf } from '../../domain/fields.js';
import type { HostTool } from '../../domain/ports.js';
import type { Method } from '../http/send.js';
import { MAX_ANSWER_BYTES, type RawCall, rawTool, ToolRefusal } from '../raw-tool.js';
import { ID } from './issue-name.js';
import { API, type JiraApi, type JiraCalls, misshapen } from './api.js';
import type { PlaceReader } from './place.js';
import { checkItem } from './rest-items.js';
import { planRest, REACH } from './rest-plan.js';
import { RestScope } from './rest-scope.js';
import { projectIdOf } from './to-issue.js';

export interface JiraRestToolOptions {
  readonly api: JiraApi;
  readonly places: PlaceReader;
  /** The key of the project, as configured. */
  readonly project: string;
  readonly isReadOnly: boolean;
}

const METHODS: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
/** What Jira says no to is an answer for the agent. */
const REFUSALS = [400, 403, 404, 405, 409, 410, 412, 413, 415, 422];

/** Jira's own REST API for agents, held to one project. */
export function jiraRestTool(options: JiraRestToolOptions): HostTool {
  const { api, project, isReadOnly } = options;
  const methods = isReadOnly ? METHODS.slice(0, 1) : METHODS;
  const readOnly = isReadOnly ? ' It only reads: GET is the one method.' : '';
  return rawTool({
    name: 'jira_rest',
    description:
      `Call the REST API of Jira (version 3) within project ${project}. ${REACH}. ` +
      `No search, no JQL, no other projects.${readOnly} Texts are in Atlassian Document Format. ` +
      `Example: {"method": "GET", "path": "/issue/${project}-1?fields=summary,status"}. To move or comment on your own issue, update_issue is enough.`,
    inputSchema: {
      type: 'object',
      properties: {
        method: { type: 'string', enum: [...methods] },
        path: { type: 'string', description: 'Below /rest/api/3, with its query.' },
        body: { description: 'Sent as JSON.' },
      },
      required: ['method', 'path'],
      additionalProperties: false,
    },
    mask: (text) => api.mask(text),
    plan: (input, signal) => planCall(input, signal, options),
    async stateOf(issueId, signal) {
      const { body } = await api.calls(signal).get(`/issue/${encodeURIComponent(issueId)}?fields=status`);
      return textOf(fieldsOf(fieldsOf(fieldsOf(body).fields).status).name);
    },
  });
}

async function planCall(input: Fields, signal: AbortSignal, options: JiraRestToolOptions): Promise<RawCall> {
  const { method: written, path, body: given, ...rest } = input;
  const [stranger] = Object.keys(rest);
  if (stranger !== undefined)
    throw new ToolRefusal(`jira_rest takes method, path and body, not ${stranger.slice(0, 100)}.`);
  const method = METHODS.find((each) => each === written);
  if (method === undefined) throw new ToolRefusal(`method must be one of ${METHODS.join(', ')}.`);
  if (options.isReadOnly && method !== 'GET') throw new ToolRefusal('This tool only reads: use GET.');
  if (typeof path !== 'string') throw new ToolRefusal('path must be a text, such as /issue/ABC-1.');
  // Absent to whoever fills in everything that a schema names.
  const body = given ?? undefined;
  const calls = options.api.calls(signal);
  const { project } = options.places.known ?? (await options.places.read(calls));
  if (project === null) throw new ToolRefusal('There is no project that this tool could be held to.');
  const scope = new RestScope(project, options.project);
  const plan = planRest({ method, path, body }, scope);
  const ids = new Map<string, string>();
  for (const issue of new Set(plan.issues)) ids.set(issue, await idInside(calls, issue, scope));
  const idOf = (issue: string) => ids.get(issue) ?? '';
  if (plan.item !== null) await checkItem(calls, plan.item, idOf(plan.item.issue));
  const order = plan.write(idOf);
  const sent = { method, ...order, path: `${API}${order.path}` };
  const send = async () => {
    const { status, body } = await calls.ask({ ...sent, accept: REFUSALS, maxBytes: MAX_ANSWER_BYTES });
    return { ok: status < 400, body, status };
  };
  return { isChange: method !== 'GET', send };
}

/** The id of an issue, once Jira has said that it is in the project. */
async function idInside(calls: JiraCalls, issue: string, scope: RestScope): Promise<string> {
  const { status, body } = await calls.get(`/issue/${encodeURIComponent(issue)}?fields=project`, [404]);
  if (status === 404) throw new ToolRefusal(`There is no issue ${issue} in project ${scope.key}.`);
  if (projectIdOf(body) !== scope.projectId) throw scope.foreign(issue);
  const id = textOf(fieldsOf(body).id);
  if (id === null || !ID.test(id)) throw misshapen(`issue ${issue}`, 'has no id');
  return id;
}
