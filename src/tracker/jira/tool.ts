import { type Fields, fieldsOf, listOf, textOf } from '../../domain/json.js';
import type { HostTool } from '../../domain/ports.js';
import type { Method } from '../http/tracker-http.js';
import { MAX_ANSWER_BYTES, parseRestPath, type RawCall, rawTool, ToolRefusal, writeRestPath } from '../raw-tool.js';
import { API, ISSUE_REF, invalidAnswer, type JiraApi, type JiraCalls, NUMERIC_ID } from './api.js';
import type { JiraProject, ProjectCache } from './project.js';
import { projectIdOf } from './read.js';

interface JiraToolOptions {
  readonly api: JiraApi;
  readonly projects: ProjectCache;
  /** The key of the project, as configured. */
  readonly project: string;
  readonly isReadOnly: boolean;
}

const METHODS: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
/** What Jira says no to is an answer for the agent. */
const REFUSALS = [400, 403, 404, 405, 409, 410, 412, 413, 415, 422];

/** Jira's own REST API for agents, held to one project. */
export function jiraTool(options: JiraToolOptions): HostTool {
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

async function planCall(input: Fields, signal: AbortSignal, options: JiraToolOptions): Promise<RawCall> {
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
  const { project } = options.projects.cached ?? (await options.projects.read(calls));
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
  if (id === null || !NUMERIC_ID.test(id)) throw invalidAnswer(`issue ${issue}`, 'has no id');
  return id;
}

interface RestCall {
  readonly method: Method;
  readonly path: string;
  readonly body: unknown;
}

/** A call of `jira_rest` that may be sent once all of its issues are known to be in the project. */
interface RestPlan {
  /** Ids or keys of issues, as the agent wrote them. */
  readonly issues: readonly string[];
  /** Must be looked for in its issue, too. */
  readonly item: RestItem | null;
  /** Names issues by the ids that were looked at, whatever the agent wrote. */
  write(idOf: (issue: string) => string): { readonly path: string; readonly body?: unknown };
}

interface Below {
  readonly methods: readonly Method[];
  /** What a further part of the path may be, and what may be done with that. */
  readonly one?: { readonly name: RegExp; readonly methods: readonly Method[] };
}

/** Only one by one: without a number in the path Jira changes and deletes whatever the body or the query names. */
const ALL: Below = { methods: ['GET', 'POST'], one: { name: /^\d+$/, methods: ['GET', 'PUT', 'DELETE'] } };
const CHOSEN: Below = { methods: ['GET', 'POST', 'DELETE'] };
const READ: Below = { methods: ['GET'] };

/** What lies below an issue. A worklog, for one, could be moved to another issue by `/worklog/move`. */
const BELOW_ISSUE: ReadonlyMap<string, Below> = new Map([
  ...['comment', 'worklog', 'remotelink'].map((part) => [part, ALL] as const),
  ...['watchers', 'votes'].map((part) => [part, CHOSEN] as const),
  ...['changelog', 'editmeta'].map((part) => [part, READ] as const),
  ['properties', { ...READ, one: { name: /^[\w-][\w.:-]*$/, methods: ['GET', 'PUT', 'DELETE'] } }],
  ['transitions', { methods: ['GET', 'POST'] }],
]);
const ITSELF: Below = { methods: ['GET', 'PUT'] };

/** The same for everybody who may use Jira. */
const CATALOGUES: ReadonlyMap<string, Below> = new Map([
  ...['status', 'priority', 'issuetype'].map((part) => [part, { ...READ, one: { name: /^\d+$/, ...READ } }] as const),
  ...['field', 'myself'].map((part) => [part, READ] as const),
]);

const REACH =
  'It reaches GET and PUT of /issue/{key}, below that comment, transitions, worklog, remotelink, properties, watchers, votes, changelog and editmeta, ' +
  'POST /issue, POST /issueLink, GET of /project/{key} and below, and GET of /status, /priority, /issuetype, /field and /myself';

/** Throws `ToolRefusal` for what is not allowed by its form alone. */
function planRest(call: RestCall, scope: RestScope): RestPlan {
  const { method, body } = call;
  const parsed = parseRestPath(call.path);
  if (typeof parsed === 'string') throw new ToolRefusal(`${parsed}.`);
  if (method === 'GET' && body !== undefined) throw new ToolRefusal('GET takes no body.');
  const segments = withoutPrefix(parsed.segments);
  const [first = '', second] = segments;
  const { query } = parsed;
  if (first === 'issue' && second !== undefined) return planIssue(call, segments, query, scope);
  if ((first === 'issue' || first === 'issueLink') && segments.length === 1) {
    if (method !== 'POST') throw outOfReach(method, segments);
    const content = first === 'issue' ? planCreation(fieldsOf(body), scope) : planLink(fieldsOf(body), scope);
    return planned(() => segments, query, content);
  }
  if (first === 'project' && second !== undefined) {
    if (!scope.isProject(second))
      throw new ToolRefusal(`${second} is not project ${scope.key}, to which this tool is held.`);
    const below = segments.slice(2);
    // Whatever is no plain word might mean a step upwards to whoever reads it; and a project may be called like a part of Jira's API.
    if (method !== 'GET' || !below.every((part) => /^\w[\w-]*$/.test(part))) throw outOfReach(method, segments);
    return planned(() => ['project', scope.projectId, ...below], query, NO_BODY);
  }
  if (!mayReach(CATALOGUES.get(first), method, segments.slice(1))) throw outOfReach(method, segments);
  return planned(() => segments, query, NO_BODY);
}

const NO_BODY: BodyPlan = { issues: [], write: () => undefined };

function planIssue({ method, body }: RestCall, segments: readonly string[], query: string, scope: RestScope): RestPlan {
  const [, issue = '', part, ...rest] = segments;
  if (!ISSUE_REF.test(issue)) throw outOfReach(method, segments);
  if (!mayReach(part === undefined ? ITSELF : BELOW_ISSUE.get(part), method, rest)) throw outOfReach(method, segments);
  scope.checkKey(issue);
  const isEdit = method === 'PUT' ? part === undefined : method === 'POST' && part === 'transitions';
  const content = isEdit ? planEdit(body, scope) : { issues: [], write: () => body };
  const below = segments.slice(2);
  const [id] = rest;
  const named = { ...content, issues: [issue, ...content.issues] };
  const plan = planned((idOf) => ['issue', idOf(issue), ...below], query, named);
  return part === undefined || id === undefined ? plan : { ...plan, item: { issue, part, id } };
}

function mayReach(below: Below | undefined, method: Method, rest: readonly string[]): boolean {
  const [next, ...more] = rest;
  const found = next === undefined ? below : below?.one?.name.test(next) === true ? below.one : undefined;
  return more.length === 0 && found?.methods.includes(method) === true;
}

function planned(
  segments: (idOf: (issue: string) => string) => readonly string[],
  query: string,
  { issues, write }: BodyPlan,
): RestPlan {
  return {
    issues,
    item: null,
    write: (idOf) => {
      const body = write(idOf);
      return { path: `${writeRestPath(segments(idOf))}${query}`, ...(body === undefined ? {} : { body }) };
    },
  };
}

/** Paths are written with and without `/rest/api/3`. */
function withoutPrefix(segments: readonly string[]): readonly string[] {
  if (segments[0] !== 'rest') return segments;
  if (segments[1] === 'api' && segments[2] === '3') return segments.slice(3);
  throw new ToolRefusal(`Only /rest/api/3 is in reach of this tool, not /${segments.slice(0, 3).join('/')}.`);
}

function outOfReach(method: Method, segments: readonly string[]): ToolRefusal {
  return new ToolRefusal(`${method} /${segments.join('/').slice(0, 200)} is out of reach of this tool. ${REACH}.`);
}

/** What a call sends, with the issues that it names. */
interface BodyPlan {
  readonly issues: readonly string[];
  write(idOf: (issue: string) => string): unknown;
}

/** A new issue of the project. */
function planCreation(body: Fields, scope: RestScope): BodyPlan {
  const { project, ...others } = fieldsOf(body.fields);
  const { key, id, ...more } = fieldsOf(project);
  const names = [key, id].filter((name) => name !== undefined);
  const isOurs = (name: unknown) => scope.isProject(textOf(typeof name === 'number' ? String(name) : name) ?? '');
  if (names.length === 0 || Object.keys(more).length > 0 || !names.every(isOurs))
    throw new ToolRefusal(`A new issue needs fields.project with the key ${scope.key}, and no other project.`);
  const { issues, write } = planEdit({ ...body, fields: others }, scope);
  return {
    issues,
    write: (idOf) => {
      const written = fieldsOf(write(idOf));
      return { ...written, fields: { ...fieldsOf(written.fields), project: { id: scope.projectId } } };
    },
  };
}

/** A change of an issue, by itself or along with a transition. */
function planEdit(body: unknown, scope: RestScope): BodyPlan {
  const { fields, update } = fieldsOf(body);
  if (isOdd(body) || isOdd(fields) || isOdd(update)) throw new ToolRefusal('body, fields and update must be objects.');
  for (const name of [...Object.keys(fieldsOf(fields)), ...Object.keys(fieldsOf(update))]) {
    const plain = plainName(name);
    if (plain === 'attachment') throw new ToolRefusal('Files are out of reach of this tool.');
    if (plain === 'project') throw new ToolRefusal('An issue cannot be moved to another project with this tool.');
    if (plain === 'issuelinks') throw new ToolRefusal('Links are made with POST /issueLink.');
    if (plain === 'parent' && (name !== 'parent' || Object.hasOwn(fieldsOf(update), name)))
      throw new ToolRefusal('A parent is set with fields.parent.');
  }
  checkOperations(fieldsOf(fields), fieldsOf(update));
  const { parent = null } = fieldsOf(fields);
  if (parent === null) return { issues: [], write: () => body };
  const issue = issueNamedBy(parent, 'fields.parent', scope);
  return {
    issues: [issue],
    write: (idOf) => ({ ...fieldsOf(body), fields: { ...fieldsOf(fields), parent: { id: idOf(issue) } } }),
  };
}

/** A link between two issues of the project. */
function planLink(body: Fields, scope: RestScope): BodyPlan {
  const inward = issueNamedBy(body.inwardIssue, 'inwardIssue', scope);
  const outward = issueNamedBy(body.outwardIssue, 'outwardIssue', scope);
  return {
    issues: [inward, outward],
    write: (idOf) => ({ ...body, inwardIssue: { id: idOf(inward) }, outwardIssue: { id: idOf(outward) } }),
  };
}

/** What others wrote is theirs: their numbers would lead to any issue. */
const ONLY_ADDED = ['comment', 'worklog'];

/** `edit` reaches by a number what may lie elsewhere, and `copy` takes from whatever issue it names. */
function checkOperations(fields: Fields, update: Fields): void {
  const set = Object.keys(fields).find((name) => ONLY_ADDED.includes(plainName(name)));
  if (set !== undefined) throw new ToolRefusal(`${set} cannot be set: write update.${plainName(set)} with add.`);
  for (const [name, written] of Object.entries(update)) {
    const allowed = ONLY_ADDED.includes(plainName(name)) ? ['add'] : ['add', 'set', 'remove'];
    const isGood = (each: unknown) => {
      const names = Object.keys(fieldsOf(each));
      return names.length > 0 && names.every((operation) => allowed.includes(operation));
    };
    if (Array.isArray(written) && written.every(isGood)) continue;
    throw new ToolRefusal(`update.${name.slice(0, 100)} must be a list of operations: ${allowed.join(', ')}.`);
  }
}

function plainName(name: string): string {
  return name.trim().toLowerCase();
}

/** One name only: of two, nobody knows which one Jira takes. */
function issueNamedBy(value: unknown, where: string, scope: RestScope): string {
  const { key, id } = fieldsOf(value);
  const name = textOf(typeof id === 'number' ? String(id) : (id ?? key));
  if (name === null || !ISSUE_REF.test(name) || (id !== undefined && key !== undefined))
    throw new ToolRefusal(`${where} must name one issue, such as {"key": "${scope.key}-1"}.`);
  scope.checkKey(name);
  return name;
}

function isOdd(value: unknown): boolean {
  return value !== undefined && (typeof value !== 'object' || value === null || Array.isArray(value));
}

/** One comment, worklog or link of an issue. */
interface RestItem {
  /** As the agent wrote it. */
  readonly issue: string;
  readonly part: string;
  readonly id: string;
}

const LISTS: ReadonlyMap<string, { readonly query: string; itemsIn(body: unknown): unknown }> = new Map([
  ['comment', { query: '?orderBy=-created&maxResults=1000', itemsIn: (body) => fieldsOf(body).comments }],
  ['worklog', { query: '?maxResults=5000', itemsIn: (body) => fieldsOf(body).worklogs }],
  ['remotelink', { query: '', itemsIn: (body) => body }],
]);

/** Nobody promises that Jira looks at the issue beside the number of a comment: numbers of other projects would be in reach. */
async function checkItem(calls: JiraCalls, { issue, part, id }: RestItem, issueId: string): Promise<void> {
  const list = LISTS.get(part);
  if (list === undefined) return;
  const { body } = await calls.get(`/issue/${issueId}/${part}${list.query}`);
  const ids = listOf(list.itemsIn(body)).map((item) => String(fieldsOf(item).id));
  if (!ids.includes(id)) throw new ToolRefusal(`Issue ${issue} has no ${part} ${id}.`);
}

/** The project that a raw tool is held to, and what belongs to it as far as names tell. */
class RestScope {
  readonly key: string;
  readonly projectId: string;
  readonly #keys: readonly string[];

  /** `written`: the key as configured, which may be one that the project had before. */
  constructor({ id, key }: JiraProject, written: string) {
    this.key = key;
    this.projectId = id;
    this.#keys = [key.toUpperCase(), written.toUpperCase()];
  }

  isProject(written: string): boolean {
    return written === this.projectId || this.#keys.includes(written.toUpperCase());
  }

  /** Refuses a key of another project. An id says nothing; nor does a good key prove anything, since issues keep their old keys when they are moved. */
  checkKey(issue: string): void {
    const at = issue.lastIndexOf('-');
    if (at === -1 || this.#keys.includes(issue.slice(0, at).toUpperCase())) return;
    throw this.foreign(issue);
  }

  foreign(issue: string): ToolRefusal {
    return new ToolRefusal(`${issue} is not in project ${this.key}, to which this tool is held.`);
  }
}
