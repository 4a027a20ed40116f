import { type Fields, fieldsOf, textOf } from '../../domain/json.js';
import type { HostTool } from '../../domain/ports.js';
import type { HttpReading, HttpRequest } from '../http/tracker-http.js';
import {
  MAX_ANSWER_BYTES,
  type RawCall,
  type RawResult,
  type RestCall,
  type RestRule,
  type RestTable,
  restTool,
  ToolRefusal,
  writeRestPath,
} from '../raw-tool.js';
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

/** Redmine's REST API, limited to the configured project. */
export function redmineTool({ scope, isReadOnly, mask, reading }: RedmineToolOptions): HostTool {
  const example = isReadOnly
    ? ''
    : ' or {"method": "PUT", "path": "/issues/12.json", "body": {"issue": {"status_id": 3, "notes": "Done."}}}';
  return restTool({
    table: tableOf(scope),
    description:
      `Call the REST API of Redmine, limited to the project ${scope.project}${isReadOnly ? ', for reading only' : ''}: issues, their relations and watchers, ` +
      'and the lists of statuses, trackers, priorities, versions, categories and members. Issues of other projects are refused, and so is deleting. ' +
      `Example: {"method": "GET", "path": "/issues.json?status_id=open&limit=20"}${example}. ` +
      'To move or comment on the issue you are working on, update_issue is enough.',
    pathHelp: 'Begins with a slash; with its query, if any.',
    isReadOnly,
    mask,
    prepare: (call, signal) => prepareCall(call, reading(signal), scope),
    async stateOf(issueId, signal) {
      const number = issueNumberOf(issueId);
      if (number === null) return null;
      const record = (await readByNumber(reading(signal), scope, [number])).get(number);
      return textOf(fieldsOf(record?.status).name);
    },
  });
}

interface RedmineRule extends RestRule {
  /** The values that `include` may have in the query. */
  readonly includes?: readonly string[];
  /** Checks the body and finds the issues that it names. */
  readonly plan?: (body: Fields, scope: Scope) => BodyPlan;
}

/** The body to send, and the numbers of the issues in it. */
interface BodyPlan {
  readonly body: object;
  readonly issues: readonly number[];
}

const PAGE = ['limit', 'offset'];
/** `key` would act as another account, and `query_id` could be another project's. */
const FILTERS = [
  ...['issue_id', 'status_id', 'tracker_id', 'priority_id', 'category_id', 'fixed_version_id', 'parent_id', 'subject'],
  ...['assigned_to_id', 'author_id', 'created_on', 'updated_on', 'closed_on', 'sort', 'project_id', ...PAGE],
];
/** Without `children`, which may be in other projects. */
const ISSUE_PARTS = ['journals', 'relations', 'attachments', 'watchers', 'allowed_statuses', 'changesets'];
const PROJECT_PARTS = ['trackers', 'issue_categories', 'enabled_modules', 'time_entry_activities'];

/** Without files. `project_id` is checked by `planIssue`. */
const ISSUE_FIELDS = [
  ...['subject', 'description', 'status_id', 'tracker_id', 'priority_id', 'category_id', 'fixed_version_id'],
  ...['assigned_to_id', 'parent_issue_id', 'notes', 'private_notes', 'is_private', 'custom_fields', 'start_date'],
  ...['due_date', 'done_ratio', 'estimated_hours', 'watcher_user_ids', 'project_id'],
];

const ISSUE_LIST = { query: [...FILTERS, 'include', /^cf_\d{1,9}$/], includes: ISSUE_PARTS };
const ONE_ISSUE = { query: ['include'], includes: ISSUE_PARTS };
const ISSUE_BODY = { inside: 'issue', fields: ISSUE_FIELDS };
const RELATION_BODY = { inside: 'relation', fields: ['issue_to_id', 'relation_type', 'delay'] };

/** Redmine reads parameters from the query and from anywhere in a body, so every name is listed. */
const RULES: readonly RedmineRule[] = [
  { call: 'GET issues', ...ISSUE_LIST },
  { call: 'POST issues', ...ISSUE_LIST, ...ISSUE_BODY, plan: planCreation },
  { call: 'GET issues/{issue}', ...ONE_ISSUE },
  { call: 'PUT issues/{issue}', ...ONE_ISSUE, ...ISSUE_BODY, plan: planIssue },
  { call: 'GET issues/{issue}/relations', query: [] },
  { call: 'POST issues/{issue}/relations', query: [], ...RELATION_BODY, plan: planRelation },
  { call: 'POST issues/{issue}/watchers', query: [], fields: ['user_id'], plan: planWatcher },
  { call: 'GET relations/{relation}', query: [] },
  { call: 'GET projects/{project}', query: ['include'], includes: PROJECT_PARTS },
  { call: 'GET projects/{project}/{list}', query: PAGE },
  { call: 'GET {catalogue}', query: [] },
  { call: 'GET enumerations/issue_priorities', query: [] },
  { call: 'GET users/current', query: [] },
];

const REACH =
  'It reaches /issues.json, /issues/{id}.json, /issues/{id}/relations.json, /issues/{id}/watchers.json, /relations/{id}.json, /issue_statuses.json, ' +
  '/trackers.json, /enumerations/issue_priorities.json, /users/current.json, and /projects/{project}.json with versions, issue_categories and memberships.';

function tableOf({ project }: Scope): RestTable<RedmineRule> {
  return {
    tool: 'redmine_api',
    example: '/issues/12.json',
    rules: RULES,
    segments: {
      issue: /^[1-9]\d{0,9}$/,
      relation: /^[1-9]\d{0,9}$/,
      // A project has only letters, digits, dashes and underscores.
      project: new RegExp(`^${project}$`),
      list: /^(?:versions|issue_categories|memberships)$/,
      catalogue: /^(?:issue_statuses|trackers)$/,
    },
    below: (segments) => [...segments.slice(0, -1), (segments.at(-1) ?? '').replace(/\.json$/, '')],
    refusal: (method, segments) =>
      `${method} /${segments.join('/').slice(0, 200)} is out of reach. ${REACH} The project is ${project}.`,
  };
}

/** Statuses with which Redmine rejects a call. The agent gets them as an answer. */
const REFUSALS = [400, 403, 404, 406, 409, 410, 412, 413, 422];

/** Checks that all issues of a call are in the project. */
async function prepareCall(call: RestCall<RedmineRule>, reading: HttpReading, scope: Scope): Promise<RawCall['send']> {
  const { method, segments, rule, named } = call;
  const query = new URLSearchParams(call.query);
  checkIncludes(query, rule);
  if (segments.length === 1 && segments[0] === 'issues') {
    requireProject(query.get('project_id'), scope);
    for (const [name, value] of Object.entries(scopeFilters(scope))) query.set(name, value);
  }
  const number = numberIn(named, scope);
  const plan = rule.plan?.(fieldsOf(rule.inside === undefined ? call.body : fieldsOf(call.body)[rule.inside]), scope);
  const path = `${writeRestPath(segments)}.json`;
  if (named.relation !== undefined) await requireRelation(path, named.relation, reading, scope);
  // The run's own issue is checked as well: it may have been moved to another project.
  else await requireIssues([...(number === null ? [] : [number]), ...(plan?.issues ?? [])], reading, scope);
  const search = query.size === 0 ? '' : `?${query}`;
  const request = { method, path: `${path}${search}`, ...(plan ? { body: plan.body } : {}), accept: REFUSALS };
  return () => send(request, number, reading);
}

/** The number of the issue or relation in the path; `null` when it has none. */
function numberIn({ issue, relation }: RestCall['named'], { project }: Scope): number | null {
  const written = issue ?? relation;
  if (written === undefined) return null;
  const number = issueNumberOf(written);
  if (number !== null) return number;
  throw new ToolRefusal(`${written} is not a number of Redmine. ${REACH} The project is ${project}.`);
}

function checkIncludes(query: URLSearchParams, { includes = [] }: RedmineRule): void {
  for (const value of query.getAll('include')) {
    const other = value.split(',').find((part) => !includes.includes(part.trim()));
    if (other !== undefined)
      throw new ToolRefusal(`include takes ${includes.join(', ')} here, not ${JSON.stringify(other)}.`);
  }
}

/** A project may be left out, but no other one may be named. */
function requireProject(written: unknown, { project }: Scope): void {
  if (written === undefined || written === null || written === project) return;
  throw new ToolRefusal(`Only the project ${project} is in reach: write project_id "${project}", or leave it out.`);
}

async function requireIssues(numbers: readonly number[], reading: HttpReading, scope: Scope): Promise<void> {
  const found = await readByNumber(reading, scope, numbers);
  const outside = numbers.find((number) => !found.has(number));
  if (outside !== undefined) throw outsideProject(identifierOf(outside), scope);
}

/** One of the two issues must be in the project. A relation shows only the number of the other one. */
async function requireRelation(path: string, number: string, reading: HttpReading, scope: Scope): Promise<void> {
  const { body } = await reading.get(path, { accept: [403, 404] });
  const relation = fieldsOf(fieldsOf(body).relation);
  const ends = [relation.issue_id, relation.issue_to_id].flatMap((end) => idIn(end) ?? []);
  const found = await readByNumber(reading, scope, ends);
  if (found.size === 0) throw outsideProject(`The relation ${number}`, scope);
}

function outsideProject(what: string, { project }: Scope): ToolRefusal {
  return new ToolRefusal(`${what} is not in the project ${project}, or does not exist. Nothing else is in reach.`);
}

function planCreation(issue: Fields, scope: Scope): BodyPlan {
  const { body, issues } = planIssue(issue, scope);
  return { body: { issue: { ...fieldsOf(fieldsOf(body).issue), project_id: scope.project } }, issues };
}

function planIssue({ parent_issue_id: parent, project_id: project, ...others }: Fields, scope: Scope): BodyPlan {
  requireProject(project, scope);
  const isParent = parent !== undefined && parent !== null && parent !== '';
  const issues = isParent ? [requireNumber(parent, 'issue.parent_issue_id')] : [];
  // An empty parent removes the issue from its parent.
  const issue = { ...others, ...(parent === undefined ? {} : { parent_issue_id: issues[0] ?? '' }) };
  return { body: { issue }, issues };
}

function planRelation(relation: Fields): BodyPlan {
  const to = requireNumber(relation.issue_to_id, 'relation.issue_to_id');
  return { body: { relation: { ...relation, issue_to_id: to } }, issues: [to] };
}

function planWatcher({ user_id: user }: Fields): BodyPlan {
  return { body: { user_id: requireNumber(user, 'user_id') }, issues: [] };
}

function requireNumber(value: unknown, name: string): number {
  const number = typeof value === 'number' || typeof value === 'string' ? issueNumberOf(String(value)) : null;
  if (number === null) throw new ToolRefusal(`${name} must be one number.`);
  return number;
}

async function send(request: HttpRequest, number: number | null, reading: HttpReading): Promise<RawResult> {
  const { status, body } = await reading.ask({ ...request, maxBytes: MAX_ANSWER_BYTES });
  if (request.method === 'PUT' && status < 300 && number !== null) {
    const wanted = fieldsOf(fieldsOf(request.body).issue).status_id ?? null;
    const result =
      wanted === null ? { read: null } : await readAfterChange(number, () => notMovedProblem(number, wanted, reading));
    if ('doubt' in result) return { ok: true, status, body: { warnings: [result.doubt] } };
    if (result.read !== null) return { ok: false, status, body: { errors: [result.read] } };
  }
  return { ok: status < 300, status, body: withoutSecrets(body) };
}

/** Redmine accepts a move that its workflow does not allow, and leaves the issue where it is. */
async function notMovedProblem(number: number, wanted: unknown, reading: HttpReading): Promise<string | null> {
  const issue = await readIssue(reading, number, 'allowed_statuses');
  const { id, name } = fieldsOf(issue.status);
  if (String(id) === String(wanted)) return null;
  return notMovedReason(number, textOf(name) ?? String(id), `status ${String(wanted)}`, issue);
}

/** Removes private notes, and the API key that Redmine shows to its owner. */
function withoutSecrets(body: unknown): unknown {
  const answer = fieldsOf(body);
  const { user, issue, issues } = answer;
  if (user !== undefined) {
    const { api_key: _, ...others } = fieldsOf(user);
    return { ...answer, user: others };
  }
  if (issue !== undefined) return { ...answer, issue: withoutPrivateNotes(issue) };
  if (Array.isArray(issues)) return { ...answer, issues: issues.map(withoutPrivateNotes) };
  return body;
}

function withoutPrivateNotes(issue: unknown): Fields {
  const { journals, ...others } = fieldsOf(issue);
  if (!Array.isArray(journals)) return others;
  return { ...others, journals: journals.filter((journal) => !isPrivate(fieldsOf(journal))) };
}
