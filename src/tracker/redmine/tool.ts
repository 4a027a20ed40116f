import { type Fields, fieldsOf, textOf } from '../../domain/json.js';
import type { HostTool } from '../../domain/ports.js';
import type { HttpReading, HttpRequest } from '../http/tracker-http.js';
import { MAX_ANSWER_BYTES, parseRestPath, type RawCall, type RawResult, rawTool, ToolRefusal } from '../raw-tool.js';
import { identifierOf, idIn, issueNumberOf } from './api.js';
import { isPrivate, readByNumber, readIssue, scopeFilters } from './read.js';
import type { Scope } from './settings.js';
import { notMovedReason, readAfterChange } from './write.js';

interface RedmineToolOptions {
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
      const record = (await readByNumber(options.reading(signal), scope, [number])).get(number);
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
    const look =
      wanted === null ? { read: null } : await readAfterChange(number, () => leftBehind(number, wanted, reading));
    if ('doubt' in look) return { ok: true, status, body: { warnings: [look.doubt] } };
    if (look.read !== null) return { ok: false, status, body: { errors: [look.read] } };
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
  const found = await readByNumber(reading, scope, numbers);
  const outside = numbers.find((number) => !found.has(number));
  if (outside !== undefined) throw notInside(identifierOf(outside), scope);
}

/** One of the two issues is enough: a relation says no more of the other than its number. */
async function checkRelation({ path, number }: ToolRoute, reading: HttpReading, scope: Scope): Promise<void> {
  const { body } = await reading.get(path, { accept: [403, 404] });
  const relation = fieldsOf(fieldsOf(body).relation);
  const ends = [relation.issue_id, relation.issue_to_id].flatMap((end) => idIn(end) ?? []);
  const found = await readByNumber(reading, scope, ends);
  if (found.size === 0) throw notInside(`The relation ${number}`, scope);
}

function notInside(what: string, { project }: Scope): ToolRefusal {
  return new ToolRefusal(`${what} is not in the project ${project}, or does not exist. Nothing else is in reach.`);
}

/** Redmine says yes to a move that its workflow does not allow, and leaves the issue where it is. */
async function leftBehind(number: number, wanted: unknown, reading: HttpReading): Promise<string | null> {
  const issue = await readIssue(reading, number, 'allowed_statuses');
  const { id, name } = fieldsOf(issue.status);
  return String(id) === String(wanted)
    ? null
    : notMovedReason(number, textOf(name) ?? String(id), `status ${String(wanted)}`, issue);
}

/** A path that may be asked for, and what must hold before it is. */
interface ToolRoute {
  readonly methods: readonly string[];
  /** As it is sent, with its ending and without its query. */
  readonly path: string;
  /** Names of what may stand in the query. */
  readonly query: readonly string[];
  readonly includes: readonly string[];
  readonly kind: 'issues' | 'issue' | 'relations' | 'watchers' | 'relation' | 'plain';
  /** The issue or relation that the path names. */
  readonly number: number | null;
}

const PAGE = ['limit', 'offset'];
const FILTERS = [
  ...['issue_id', 'status_id', 'tracker_id', 'priority_id', 'category_id', 'fixed_version_id', 'parent_id', 'subject'],
  ...['assigned_to_id', 'author_id', 'created_on', 'updated_on', 'closed_on', 'sort', 'project_id', ...PAGE],
];
/** Not `children`: those may lie in other projects. */
const ISSUE_PARTS = ['journals', 'relations', 'attachments', 'watchers', 'allowed_statuses', 'changesets'];
const PROJECT_PARTS = ['trackers', 'issue_categories', 'enabled_modules', 'time_entry_activities'];
const PROJECT_LISTS = ['versions', 'issue_categories', 'memberships'];
const PLAIN = ['/issue_statuses', '/trackers', '/enumerations/issue_priorities', '/users/current'];

const HELP =
  'It reaches /issues.json, /issues/{id}.json, /issues/{id}/relations.json, /issues/{id}/watchers.json, /relations/{id}.json, /issue_statuses.json, ' +
  '/trackers.json, /enumerations/issue_priorities.json, /users/current.json, and /projects/{project}.json with versions, issue_categories and memberships.';

/** The path and query that an agent wrote, held to the project. Throws `ToolRefusal`. */
function toolRoute(written: string, scope: Scope): { readonly route: ToolRoute; readonly query: URLSearchParams } {
  const parsed = parseRestPath(written);
  if (typeof parsed === 'string') throw new ToolRefusal(`The ${parsed}. ${HELP}`);
  const route = routeOf(parsed.segments, scope);
  if (route === null) throw new ToolRefusal(`This path is out of reach. ${HELP} The project is ${scope.project}.`);
  const query = new URLSearchParams(parsed.query);
  checkQuery(query, route);
  if (route.kind !== 'issues') return { route, query };
  onlyProject(query.get('project_id'), scope);
  for (const [name, value] of Object.entries(scopeFilters(scope))) query.set(name, value);
  return { route, query };
}

/** A project that an agent names must be the one that is configured; it may as well name none. */
function onlyProject(written: unknown, { project }: Scope): void {
  if (written === undefined || written === null || written === project) return;
  throw new ToolRefusal(`Only the project ${project} is in reach: write project_id "${project}", or leave it out.`);
}

function routeOf(written: readonly string[], { project }: Scope): ToolRoute | null {
  const segments = [...written.slice(0, -1), (written.at(-1) ?? '').replace(/\.json$/, '')];
  const [first, second = '', third] = segments;
  const plain = { query: [], includes: [], kind: 'plain', number: null, methods: ['GET'] } as const;
  const path = `/${segments.map(encodeURIComponent).join('/')}.json`;
  if (PLAIN.includes(`/${segments.join('/')}`)) return { ...plain, path };
  if (first === 'projects' && second === project) {
    if (segments.length === 2) return { ...plain, path, includes: PROJECT_PARTS };
    const isList = segments.length === 3 && PROJECT_LISTS.includes(third ?? '');
    return isList ? { ...plain, path, query: PAGE } : null;
  }
  if (first === 'issues' && segments.length === 1) {
    return { ...plain, path, kind: 'issues', methods: ['GET', 'POST'], query: FILTERS, includes: ISSUE_PARTS };
  }
  const number = /^\d+$/.test(second) ? issueNumberOf(second) : null;
  if (number === null) return null;
  const one = { ...plain, path, number };
  if (first === 'relations' && segments.length === 2) return { ...one, kind: 'relation' };
  if (first !== 'issues') return null;
  if (segments.length === 2) return { ...one, kind: 'issue', methods: ['GET', 'PUT'], includes: ISSUE_PARTS };
  if (segments.length !== 3) return null;
  if (third === 'relations') return { ...one, kind: 'relations', methods: ['GET', 'POST'] };
  return third === 'watchers' ? { ...one, kind: 'watchers', methods: ['POST'] } : null;
}

/** `key` would be another account, `query_id` another project's: only what is known to stay inside. */
function checkQuery(query: URLSearchParams, { query: names, includes, kind, path }: ToolRoute): void {
  for (const [name, value] of query) {
    if (name === 'include' && includes.length > 0) {
      const stranger = value.split(',').find((part) => !includes.includes(part.trim()));
      if (stranger === undefined) continue;
      throw new ToolRefusal(`include takes ${includes.join(', ')} here, not ${JSON.stringify(stranger)}.`);
    }
    if (names.includes(name) || (kind === 'issues' && /^cf_\d{1,9}$/.test(name))) continue;
    const allowed = [...names, ...(includes.length > 0 ? ['include'] : [])];
    const advice = allowed.length === 0 ? 'It takes none.' : `It takes: ${allowed.join(', ')}.`;
    throw new ToolRefusal(`The query of ${path} may not hold ${JSON.stringify(name)}. ${advice}`);
  }
}

/** What may be sent, and which other issues it touches: all of them must lie in the project. */
interface ToolBody {
  readonly body: object;
  readonly touches: readonly number[];
}

/** What an issue can be given. Moving it to another project, and files, are not among it. */
const ISSUE_FIELDS = [
  ...['subject', 'description', 'status_id', 'tracker_id', 'priority_id', 'category_id', 'fixed_version_id'],
  ...['assigned_to_id', 'parent_issue_id', 'notes', 'private_notes', 'is_private', 'custom_fields', 'start_date'],
  ...['due_date', 'done_ratio', 'estimated_hours', 'watcher_user_ids'],
];

/** The body that an agent wrote, held to the project. Throws `ToolRefusal`. */
function toolBody(written: unknown, route: ToolRoute, method: string, scope: Scope): ToolBody {
  if (route.kind === 'relations') return relationBody(written);
  if (route.kind === 'watchers') return watcherBody(written);
  const issue = inner(written, 'issue', [...ISSUE_FIELDS, 'project_id']);
  onlyProject(issue.project_id, scope);
  const { parent_issue_id: parent, project_id: _, ...rest } = issue;
  const touches = isAbsent(parent) ? [] : [numberOf(parent, 'issue.parent_issue_id')];
  const body = {
    ...rest,
    // Empty takes the issue away from its parent.
    ...(parent === undefined ? {} : { parent_issue_id: touches[0] ?? '' }),
    ...(method === 'POST' ? { project_id: scope.project } : {}),
  };
  return { body: { issue: body }, touches };
}

function relationBody(written: unknown): ToolBody {
  const relation = inner(written, 'relation', ['issue_to_id', 'relation_type', 'delay']);
  const to = numberOf(relation.issue_to_id, 'relation.issue_to_id');
  return { body: { relation: { ...relation, issue_to_id: to } }, touches: [to] };
}

function watcherBody(written: unknown): ToolBody {
  const { user_id: user, ...rest } = fieldsOf(written);
  if (Object.keys(rest).length > 0) throw new ToolRefusal('body takes user_id and nothing else.');
  return { body: { user_id: numberOf(user, 'user_id') }, touches: [] };
}

/** Redmine takes parameters from everywhere in a body: only the one object that is meant may be there. */
function inner(written: unknown, name: string, fields: readonly string[]): Fields {
  const body = fieldsOf(written);
  const value = body[name];
  const isAlone = Object.keys(body).length === 1;
  if (!isAlone || typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ToolRefusal(`body must be {"${name}": {…}} and nothing else.`);
  }
  const stranger = Object.keys(value).find((key) => !fields.includes(key));
  if (stranger === undefined) return value as Fields;
  throw new ToolRefusal(`${name} may not hold ${JSON.stringify(stranger)}. It takes: ${fields.join(', ')}.`);
}

function numberOf(value: unknown, name: string): number {
  const number = typeof value === 'number' || typeof value === 'string' ? issueNumberOf(String(value)) : null;
  if (number === null) throw new ToolRefusal(`${name} must be one number.`);
  return number;
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

/** What Redmine answered, without what no agent may hear: the key, which it tells everybody of themselves, and private notes. */
function fitToTell(body: unknown): unknown {
  const { user, issue, issues } = fieldsOf(body);
  if (user !== undefined) return { ...fieldsOf(body), user: withoutKey(user) };
  if (issue !== undefined) return { ...fieldsOf(body), issue: withoutPrivateNotes(issue) };
  if (Array.isArray(issues)) return { ...fieldsOf(body), issues: issues.map(withoutPrivateNotes) };
  return body;
}

function withoutKey(user: unknown): Fields {
  const { api_key: _, ...rest } = fieldsOf(user);
  return rest;
}

function withoutPrivateNotes(issue: unknown): Fields {
  const { journals, ...rest } = fieldsOf(issue);
  if (!Array.isArray(journals)) return rest;
  return { ...rest, journals: journals.filter((journal) => !isPrivate(fieldsOf(journal))) };
}
