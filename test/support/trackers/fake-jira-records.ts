import { adfOf } from './fake-jira-adf.js';
import type { FakeIssue } from './fake-tracker.js';

export interface JiraStatusRecord {
  readonly id: string;
  name: string;
}

/** The data of Jira besides the board. Tests change it. */
export interface JiraWorld {
  readonly board: ReadonlyMap<string, FakeIssue>;
  /** Project keys. The first project is in scope; the key of an issue names its project. */
  readonly projects: { readonly id: string; key: string; name: string; projectTypeKey: string }[];
  readonly statuses: JiraStatusRecord[];
  /** Visible email addresses, by person. */
  readonly emails: Map<string, string>;
  /** Fields of an issue in Jira's shape; they override the board. */
  readonly fieldsOf: Map<string, object>;
  /** Former keys of issues that were moved or whose project was renamed, with the ids of the issues. */
  readonly oldKeys: Map<string, string>;
  /** Allowed transitions by state. Absent: every other state. */
  readonly transitions: Map<string, readonly string[]>;
  /** States whose transition requires a field. */
  readonly demanding: Set<string>;
  /** Ids that a bulk read reports as errors. */
  readonly failing: Set<string>;
  /** The largest page that Jira returns. */
  pageLimit: number;
}

const PRIORITIES = ['Highest', 'High', 'Medium', 'Low'];

export const ME = 'baton';

export const MISSING = {
  status: 404,
  body: { errorMessages: ['Issue does not exist or you do not have permission to see it.'], errors: {} },
};

export function refusal(message: string, errors = {}) {
  return { status: 400, body: { errorMessages: message === '' ? [] : [message], errors } };
}

/** An issue in the shape of `GET /issue/{id}`. */
export function issueRecord(issue: FakeIssue, world: JiraWorld, wanted: readonly string[] | null) {
  const all: { readonly [name: string]: unknown } = {
    ...(issue.isMalformed ? {} : { summary: issue.title }),
    description: issue.description === null ? null : adfOf(issue.description),
    status: statusRecord(issue.state, world),
    priority: issue.priority === null ? null : { id: String(issue.priority), name: PRIORITIES[issue.priority - 1] },
    labels: issue.labels,
    issuelinks: linksOf(issue, world),
    project: projectOf(issue, world),
    assignee: issue.assignee === null ? null : person(issue.assignee, true, world),
    creator: person(issue.author, issue.isMember, world),
    reporter: person(issue.author, issue.isMember, world),
    issuetype: { id: '10003', name: 'Task', subtask: false },
    created: jiraTime(issue.createdAt),
    updated: jiraTime(issue.updatedAt),
    ...world.fieldsOf.get(issue.id),
  };
  const fields = Object.fromEntries(Object.entries(all).filter(([name]) => wanted === null || wanted.includes(name)));
  return {
    expand: 'renderedFields,names',
    id: issue.id,
    self: `/rest/api/3/issue/${issue.id}`,
    key: issue.identifier,
    fields,
  };
}

export function projectOf({ identifier }: FakeIssue, { projects }: JiraWorld) {
  const key = identifier.slice(0, identifier.lastIndexOf('-'));
  return projects.find((project) => project.key === key);
}

export function person(login: string, isMember: boolean, { emails }: JiraWorld) {
  return {
    accountId: `557058:${login}`,
    ...(emails.has(login) ? { emailAddress: emails.get(login) } : {}),
    displayName: login,
    active: true,
    timeZone: 'Europe/Berlin',
    accountType: isMember ? 'atlassian' : 'customer',
  };
}

export function commentsOf({ id, comments }: FakeIssue, world: JiraWorld) {
  return comments.map(({ author, isMember, body, createdAt }, n) => ({
    id: String(Number(id) * 100 + n),
    author: person(author, isMember, world),
    updateAuthor: person(author, isMember, world),
    body: adfOf(body),
    created: jiraTime(createdAt),
    updated: jiraTime(createdAt),
    jsdPublic: true,
  }));
}

/** Links are listed on both issues; each names the other. */
function linksOf(issue: FakeIssue, world: JiraWorld) {
  const type = { id: '10000', name: 'Blocks', inward: 'is blocked by', outward: 'blocks' };
  const linked = ({ id, identifier, title, state }: FakeIssue) => ({
    id,
    key: identifier,
    fields: { summary: title, status: statusRecord(state, world) },
  });
  const inward = issue.blockedBy.flatMap((id) => world.board.get(id) ?? []);
  const outward = [...world.board.values()].filter(({ blockedBy }) => blockedBy.includes(issue.id));
  return [
    ...inward.map((other) => ({ id: `${issue.id}${other.id}`, type, inwardIssue: linked(other) })),
    ...outward.map((other) => ({ id: `${other.id}${issue.id}`, type, outwardIssue: linked(other) })),
  ];
}

function statusRecord(state: string, { statuses }: JiraWorld) {
  const { id = '0' } = statuses.find(({ name }) => name === state) ?? {};
  return { id, name: state, statusCategory: { id: 2, key: 'new', name: 'To Do' } };
}

/** Jira's format has no colon in the zone: `2026-01-01T00:01:00.000+0000`. */
function jiraTime(iso: string): string {
  return iso.replace(/Z$/, '+0000');
}

export function issueNamed(name: string, { board, oldKeys }: JiraWorld): FakeIssue | undefined {
  const key = name.toUpperCase();
  const byKey = [...board.values()].find(({ identifier }) => identifier === key);
  return board.get(name) ?? byKey ?? board.get(oldKeys.get(key) ?? '');
}

/** The name of a transition differs from the name of its target state. */
export function transitionsOf({ state }: FakeIssue, { statuses, transitions, demanding }: JiraWorld) {
  const names = transitions.get(state) ?? statuses.map(({ name }) => name).filter((name) => name !== state);
  return statuses
    .map((to, n) => ({ id: String((n + 1) * 10 + 1), name: `Step ${n + 1}`, to, hasScreen: demanding.has(to.name) }))
    .filter(({ to }) => names.includes(to.name))
    .map((transition) => ({ ...transition, isGlobal: false, isInitial: false, isConditional: false }));
}
