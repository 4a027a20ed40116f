import { fieldsOf } from '../../domain/fields.js';
import type { Method } from '../http/send.js';
import { ToolRefusal } from '../raw-tool.js';
import { parseRestPath, writeRestPath } from '../rest-path.js';
import { ISSUE } from './issue-name.js';
import { type BodyPlan, planCreation, planEdit, planLink } from './rest-bodies.js';
import type { RestItem } from './rest-items.js';
import type { RestScope } from './rest-scope.js';

export interface RestCall {
  readonly method: Method;
  readonly path: string;
  readonly body: unknown;
}

/** A call of `jira_rest` that may be sent once all of its issues are known to be in the project. */
export interface RestPlan {
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

export const REACH =
  'It reaches GET and PUT of /issue/{key}, below that comment, transitions, worklog, remotelink, properties, watchers, votes, changelog and editmeta, ' +
  'POST /issue, POST /issueLink, GET of /project/{key} and below, and GET of /status, /priority, /issuetype, /field and /myself';

/** Throws `ToolRefusal` for what is not allowed by its form alone. */
export function planRest(call: RestCall, scope: RestScope): RestPlan {
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
  if (!ISSUE.test(issue)) throw outOfReach(method, segments);
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
