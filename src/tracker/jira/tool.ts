import { type Fields, fieldsOf, listOf, textOf } from '../../domain/json.js';
import type { HostTool } from '../../domain/ports.js';
import {
  MAX_ANSWER_BYTES,
  type RawCall,
  type RestCall,
  type RestRule,
  type RestTable,
  restTool,
  ToolRefusal,
  writeRestPath,
} from '../raw-tool.js';
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

/** Jira's REST API, limited to one project. */
export function jiraTool(options: JiraToolOptions): HostTool {
  const { api, project, isReadOnly } = options;
  return restTool({
    table: TABLE,
    description:
      `Call the REST API of Jira (version 3) within project ${project}. ${REACH}. ` +
      `No search, no JQL, no other projects.${isReadOnly ? ' Only GET is allowed.' : ''} Texts are in Atlassian Document Format. ` +
      `Example: {"method": "GET", "path": "/issue/${project}-1?fields=summary,status"}. To move or comment on your own issue, update_issue is enough.`,
    pathHelp: 'Below /rest/api/3, with its query.',
    isReadOnly,
    mask: (text) => api.mask(text),
    prepare: (call, signal) => prepareCall(call, api.calls(signal), options),
    async stateOf(issueId, signal) {
      const { body } = await api.calls(signal).get(`/issue/${encodeURIComponent(issueId)}?fields=status`);
      return textOf(fieldsOf(fieldsOf(fieldsOf(body).fields).status).name);
    },
  });
}

interface JiraRule extends RestRule {
  /** Checks the body and finds the issues that it names. Absent: any body, which names none. */
  readonly plan?: (body: unknown, scope: ProjectScope) => BodyPlan;
  /** The call names an item of a list of the issue, which must exist there. */
  readonly isItem?: true;
}

/** What a call sends, and the issues in it. */
interface BodyPlan {
  /** Ids or keys, as the agent wrote them. */
  readonly issues: readonly string[];
  /** The body with the checked ids in place of what the agent wrote. */
  write(idOf: (issue: string) => string): unknown;
}

/**
 * Queries and bodies may hold anything, unless a `plan` checks the body. Items of lists are reached only by their number: without one, Jira changes and deletes
 * whatever the body or the query names, and `worklog/move` moves worklogs to other issues.
 */
const ANY = { query: 'any', fields: 'json' } as const;

const RULES: readonly JiraRule[] = [
  { call: 'GET issue/{issue}', ...ANY },
  { call: 'PUT issue/{issue}', ...ANY, plan: planEdit },
  { call: 'GET POST issue/{issue}/{list}', ...ANY },
  { call: 'GET PUT DELETE issue/{issue}/{list}/{number}', ...ANY, isItem: true },
  { call: 'GET issue/{issue}/transitions', ...ANY },
  { call: 'POST issue/{issue}/transitions', ...ANY, plan: planEdit },
  { call: 'GET POST DELETE issue/{issue}/{people}', ...ANY },
  { call: 'GET issue/{issue}/{view}', ...ANY },
  { call: 'GET PUT DELETE issue/{issue}/properties/{property}', ...ANY },
  { call: 'POST issue', ...ANY, plan: planCreation },
  { call: 'POST issueLink', ...ANY, plan: planLink },
  { call: 'GET project/{project}/**', ...ANY },
  { call: 'GET {catalogue}', ...ANY },
  { call: 'GET {catalogue}/{number}', ...ANY },
  { call: 'GET {single}', ...ANY },
];

const REACH =
  'It reaches GET and PUT of /issue/{key}, below that comment, transitions, worklog, remotelink, properties, watchers, votes, changelog and editmeta, ' +
  'POST /issue, POST /issueLink, GET of /project/{key} and below, and GET of /status, /priority, /issuetype, /field and /myself';

const TABLE: RestTable<JiraRule> = {
  tool: 'jira_rest',
  example: '/issue/ABC-1',
  rules: RULES,
  segments: {
    issue: ISSUE_REF,
    list: /^(?:comment|worklog|remotelink)$/,
    people: /^(?:watchers|votes)$/,
    view: /^(?:changelog|editmeta|properties)$/,
    property: /^[\w-][\w.:-]*$/,
    project: /^/,
    catalogue: /^(?:status|priority|issuetype)$/,
    single: /^(?:field|myself)$/,
  },
  // Both `/issue/ABC-1` and `/rest/api/3/issue/ABC-1` are understood.
  below(segments) {
    if (segments[0] !== 'rest') return segments;
    if (segments[1] === 'api' && segments[2] === '3') return segments.slice(3);
    throw new ToolRefusal(`Only /rest/api/3 is in reach of this tool, not /${segments.slice(0, 3).join('/')}.`);
  },
  refusal: (method, segments) =>
    `${method} /${segments.join('/').slice(0, 200)} is out of reach of this tool. ${REACH}.`,
};

/** Statuses with which Jira rejects a call. The agent gets them as an answer. */
const REFUSALS = [400, 403, 404, 405, 409, 410, 412, 413, 415, 422];

/** Checks that all issues of a call are in the project. The call names them by the checked ids, whatever the agent wrote. */
async function prepareCall(
  { method, segments, query, body: given, rule, named }: RestCall<JiraRule>,
  calls: JiraCalls,
  options: JiraToolOptions,
): Promise<RawCall['send']> {
  const { project } = options.projects.cached ?? (await options.projects.read(calls));
  if (project === null) throw new ToolRefusal('There is no project that this tool could be restricted to.');
  const scope = new ProjectScope(project, options.project);
  if (named.project !== undefined) scope.checkProjectPath(segments);
  if (named.issue !== undefined) scope.checkKey(named.issue);
  const written = given ?? undefined;
  const plan = rule.plan?.(written, scope) ?? { issues: [], write: () => written };
  const ids = new Map<string, string>();
  for (const issue of new Set([...(named.issue === undefined ? [] : [named.issue]), ...plan.issues]))
    ids.set(issue, await requireInProject(calls, issue, scope));
  const idOf = (issue: string) => ids.get(issue) ?? '';
  const [first = '', second = '', ...below] = segments;
  const target = named.project === undefined ? idOf(second) : scope.projectId;
  const isInside = named.issue !== undefined || named.project !== undefined;
  const path = `${API}${writeRestPath(isInside ? [first, target, ...below] : segments)}${query}`;
  if (rule.isItem) await requireItem(calls, { issue: second, list: named.list ?? '', id: named.number ?? '' }, target);
  const body = plan.write(idOf);
  return async () => {
    const request = { method, path, ...(body === undefined ? {} : { body }) };
    const answer = await calls.ask({ ...request, accept: REFUSALS, maxBytes: MAX_ANSWER_BYTES });
    return { ok: answer.status < 400, body: answer.body, status: answer.status };
  };
}

/** Returns the id of an issue in the project. Throws `ToolRefusal` for other issues. */
async function requireInProject(calls: JiraCalls, issue: string, scope: ProjectScope): Promise<string> {
  const { status, body } = await calls.get(`/issue/${encodeURIComponent(issue)}?fields=project`, [404]);
  if (status === 404) throw new ToolRefusal(`There is no issue ${issue} in project ${scope.key}.`);
  if (projectIdOf(body) !== scope.projectId) throw scope.outside(issue);
  const id = textOf(fieldsOf(body).id);
  if (id === null || !NUMERIC_ID.test(id)) throw invalidAnswer(`issue ${issue}`, 'has no id');
  return id;
}

interface Item {
  /** As the agent wrote it. */
  readonly issue: string;
  readonly list: string;
  readonly id: string;
}

const LISTS: ReadonlyMap<string, { readonly query: string; itemsIn(body: unknown): unknown }> = new Map([
  ['comment', { query: '?orderBy=-created&maxResults=1000', itemsIn: (body) => fieldsOf(body).comments }],
  ['worklog', { query: '?maxResults=5000', itemsIn: (body) => fieldsOf(body).worklogs }],
  ['remotelink', { query: '', itemsIn: (body) => body }],
]);

/** Jira does not document that it compares the issue with the number of an item. Without this check, items of other projects could be in reach. */
async function requireItem(calls: JiraCalls, { issue, list: name, id }: Item, issueId: string): Promise<void> {
  const list = LISTS.get(name);
  if (list === undefined) return;
  const { body } = await calls.get(`/issue/${issueId}/${name}${list.query}`);
  const ids = listOf(list.itemsIn(body)).map((item) => String(fieldsOf(item).id));
  if (!ids.includes(id)) throw new ToolRefusal(`Issue ${issue} has no ${name} ${id}.`);
}

/** A new issue of the project. */
function planCreation(written: unknown, scope: ProjectScope): BodyPlan {
  const body = fieldsOf(written);
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
      const edited = fieldsOf(write(idOf));
      return { ...edited, fields: { ...fieldsOf(edited.fields), project: { id: scope.projectId } } };
    },
  };
}

/** A change of an issue, alone or with a transition. */
function planEdit(body: unknown, scope: ProjectScope): BodyPlan {
  const { fields, update } = fieldsOf(body);
  if (![body, fields, update].every(isObjectOrAbsent))
    throw new ToolRefusal('body, fields and update must be objects.');
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
function planLink(written: unknown, scope: ProjectScope): BodyPlan {
  const body = fieldsOf(written);
  const inward = issueNamedBy(body.inwardIssue, 'inwardIssue', scope);
  const outward = issueNamedBy(body.outwardIssue, 'outwardIssue', scope);
  return {
    issues: [inward, outward],
    write: (idOf) => ({ ...body, inwardIssue: { id: idOf(inward) }, outwardIssue: { id: idOf(outward) } }),
  };
}

/** Comments and worklogs cannot be edited this way: their numbers could lead to any issue. */
const ONLY_ADDED = ['comment', 'worklog'];

/** Refuses `edit`, which takes numbers of items in other issues, and `copy`, which reads any issue. */
function checkOperations(fields: Fields, update: Fields): void {
  const set = Object.keys(fields).find((name) => ONLY_ADDED.includes(plainName(name)));
  if (set !== undefined) throw new ToolRefusal(`${set} cannot be set: write update.${plainName(set)} with add.`);
  for (const [name, written] of Object.entries(update)) {
    const allowed = ONLY_ADDED.includes(plainName(name)) ? ['add'] : ['add', 'set', 'remove'];
    const isAllowed = (each: unknown) => {
      const names = Object.keys(fieldsOf(each));
      return names.length > 0 && names.every((operation) => allowed.includes(operation));
    };
    if (Array.isArray(written) && written.every(isAllowed)) continue;
    throw new ToolRefusal(`update.${name.slice(0, 100)} must be a list of operations: ${allowed.join(', ')}.`);
  }
}

function plainName(name: string): string {
  return name.trim().toLowerCase();
}

/** Requires a single name, because Jira does not document which of two names it uses. */
function issueNamedBy(value: unknown, where: string, scope: ProjectScope): string {
  const { key, id } = fieldsOf(value);
  const name = textOf(typeof id === 'number' ? String(id) : (id ?? key));
  if (name === null || !ISSUE_REF.test(name) || (id !== undefined && key !== undefined))
    throw new ToolRefusal(`${where} must name one issue, such as {"key": "${scope.key}-1"}.`);
  scope.checkKey(name);
  return name;
}

function isObjectOrAbsent(value: unknown): boolean {
  return value === undefined || (typeof value === 'object' && value !== null && !Array.isArray(value));
}

/** The project that the tool is limited to. */
class ProjectScope {
  readonly key: string;
  readonly projectId: string;
  readonly #keys: readonly string[];

  /** `configuredKey` may be a former key of the project. */
  constructor({ id, key }: JiraProject, configuredKey: string) {
    this.key = key;
    this.projectId = id;
    this.#keys = [key.toUpperCase(), configuredKey.toUpperCase()];
  }

  isProject(written: string): boolean {
    return written === this.projectId || this.#keys.includes(written.toUpperCase());
  }

  /**
   * Refuses keys of other projects. This is only a first check: an id names no project, and an issue that was moved away keeps
   * its old key.
   */
  checkKey(issue: string): void {
    const at = issue.lastIndexOf('-');
    if (at === -1 || this.#keys.includes(issue.slice(0, at).toUpperCase())) return;
    throw this.outside(issue);
  }

  /** Takes `project/<key>/…`. Only plain words may follow: another segment could be read as a step upwards. */
  checkProjectPath(segments: readonly string[]): void {
    const [, project = '', ...below] = segments;
    if (!this.isProject(project))
      throw new ToolRefusal(`${project} is not project ${this.key}, to which this tool is limited.`);
    if (!below.every((part) => /^\w[\w-]*$/.test(part))) throw new ToolRefusal(TABLE.refusal('GET', segments));
  }

  outside(issue: string): ToolRefusal {
    return new ToolRefusal(`${issue} is not in project ${this.key}, to which this tool is limited.`);
  }
}
