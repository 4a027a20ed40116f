import { type Fields, fieldsOf, textOf } from '../../domain/fields.js';
import type { HostTool } from '../../domain/ports.js';
import type { HttpReading, HttpRequest } from '../http/tracker-http.js';
import { MAX_ANSWER_BYTES, type RawCall, type RawResult, rawTool, ToolRefusal } from '../raw-tool.js';
import { lookAgain, notMoved } from './write.js';
import { identifierOf, issueNumberOf, numberIn } from './issue-number.js';
import { readWhole } from './journals.js';
import { issuesByNumber, type Scope } from './read.js';
import { fitToTell } from './tool-answer.js';
import { toolBody } from './tool-body.js';
import { type ToolRoute, toolRoute } from './tool-paths.js';

export interface RedmineToolOptions {
  readonly scope: Scope;
  readonly isReadOnly: boolean;
  mask(text: string): string;
  reading(signal: AbortSignal): HttpReading;
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
type Method = (typeof METHODS)[number];
/** What Redmine says no with: the agent may see and judge it. */
const REFUSALS = [400, 403, 404, 406, 409, 410, 412, 413, 422];

/** `redmine_api`: an agent's own requests, held to the configured project. */
export function redmineTool(options: RedmineToolOptions): HostTool {
  const { scope, isReadOnly, mask } = options;
  const methods = isReadOnly ? ['GET'] : ['GET', 'POST', 'PUT'];
  return rawTool({
    name: 'redmine_api',
    description:
      `Call the REST API of Redmine, held to the project ${scope.project}${isReadOnly ? ', for reading only' : ''}: issues, their relations and watchers, ` +
      'and the lists of statuses, trackers, priorities, versions, categories and members. Issues of other projects are refused, and so is deleting. ' +
      `Example: {"method": "GET", "path": "/issues.json?status_id=open&limit=20"}${isReadOnly ? '' : ' or {"method": "PUT", "path": "/issues/12.json", "body": {"issue": {"status_id": 3, "notes": "Done."}}}'}. ` +
      'To move or comment on the issue you are working on, update_issue is enough.',
    inputSchema: {
      type: 'object',
      properties: {
        method: { type: 'string', enum: methods },
        path: { type: 'string', description: 'Begins with a slash; with its query, if any.' },
        ...(isReadOnly ? {} : { body: { type: 'object', description: 'For POST and PUT.' } }),
      },
      required: ['method', 'path'],
      additionalProperties: false,
    },
    mask,
    plan: (input, signal) => plan(input, methods, options.reading(signal), scope),
    async stateOf(issueId, signal) {
      const number = issueNumberOf(issueId);
      if (number === null) return null;
      const record = (await issuesByNumber(options.reading(signal), scope, [number])).get(number);
      return textOf(fieldsOf(record?.status).name);
    },
  });
}

async function plan(input: Fields, methods: readonly string[], reading: HttpReading, scope: Scope): Promise<RawCall> {
  const method = methodOf(input.method, methods);
  if (typeof input.path !== 'string') throw new ToolRefusal('path must be a text, such as "/issues.json".');
  const { route, query } = toolRoute(input.path, scope);
  if (!route.methods.includes(method)) {
    throw new ToolRefusal(`${method} ${route.path} is not allowed: it takes ${route.methods.join(' and ')}.`);
  }
  const sent = method === 'GET' ? null : toolBody(input.body, route, method, scope);
  await checkScope(route, sent?.touches ?? [], reading, scope);

  const search = query.size === 0 ? '' : `?${query}`;
  const request = { method, path: `${route.path}${search}`, ...(sent ? { body: sent.body } : {}), accept: REFUSALS };
  return { isChange: method !== 'GET', send: () => send(request, route.number, reading) };
}

async function send(request: HttpRequest, number: number | null, reading: HttpReading): Promise<RawResult> {
  const { status, body } = await reading.ask({ ...request, maxBytes: MAX_ANSWER_BYTES });
  if (request.method === 'PUT' && status < 300 && number !== null) {
    const wanted = fieldsOf(fieldsOf(request.body).issue).status_id ?? null;
    const look = wanted === null ? { found: null } : await lookAgain(number, () => leftBehind(number, wanted, reading));
    if ('doubt' in look) return { ok: true, status, body: { warnings: [look.doubt] } };
    if (look.found !== null) return { ok: false, status, body: { errors: [look.found] } };
  }
  return { ok: status < 300, status, body: fitToTell(body) };
}

function methodOf(written: unknown, methods: readonly string[]): Method {
  const method = METHODS.find((each) => each === String(written).toUpperCase());
  if (method !== undefined && methods.includes(method)) return method;
  throw new ToolRefusal(`method must be ${methods.join(' or ')}. Nothing else is allowed here.`);
}

/** Every issue that a call names must lie in the project, the run's own, too: it may have been moved away. */
async function checkScope(
  route: ToolRoute,
  touches: readonly number[],
  reading: HttpReading,
  scope: Scope,
): Promise<void> {
  if (route.kind === 'relation') return checkRelation(route, reading, scope);
  const numbers = [...(route.number === null ? [] : [route.number]), ...touches];
  const found = await issuesByNumber(reading, scope, numbers);
  const outside = numbers.find((number) => !found.has(number));
  if (outside !== undefined) throw notInside(identifierOf(outside), scope);
}

/** One of the two issues is enough: a relation says no more of the other than its number. */
async function checkRelation({ path, number }: ToolRoute, reading: HttpReading, scope: Scope): Promise<void> {
  const { body } = await reading.get(path, { accept: [403, 404] });
  const relation = fieldsOf(fieldsOf(body).relation);
  const ends = [relation.issue_id, relation.issue_to_id].flatMap((end) => numberIn(end) ?? []);
  const found = await issuesByNumber(reading, scope, ends);
  if (found.size === 0) throw notInside(`The relation ${number}`, scope);
}

function notInside(what: string, { project }: Scope): ToolRefusal {
  return new ToolRefusal(`${what} is not in the project ${project}, or does not exist. Nothing else is in reach.`);
}

/** Redmine says yes to a move that its workflow does not allow, and leaves the issue where it is. */
async function leftBehind(number: number, wanted: unknown, reading: HttpReading): Promise<string | null> {
  const issue = await readWhole(reading, number, 'allowed_statuses');
  const { id, name } = fieldsOf(issue.status);
  return String(id) === String(wanted)
    ? null
    : notMoved(number, textOf(name) ?? String(id), `status ${String(wanted)}`, issue);
}
