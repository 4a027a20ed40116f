import type { FakeIssue } from './fake-tracker.js';

/** The body of most refusals. */
export const NOTHING = { raw: '' };

/** The statuses of Redmine's default data. */
export const STATUSES = [
  { id: 1, name: 'New', is_closed: false },
  { id: 2, name: 'In Progress', is_closed: false },
  { id: 3, name: 'Resolved', is_closed: false },
  { id: 4, name: 'Feedback', is_closed: false },
  { id: 5, name: 'Closed', is_closed: true },
  { id: 6, name: 'Rejected', is_closed: true },
];

const PRIORITIES = ['Normal', 'Urgent', 'High', 'Normal', 'Low'];

export interface RedmineWorld {
  readonly board: ReadonlyMap<string, FakeIssue>;
  /** The project of an issue, if it is not the first project. */
  readonly projectOf: ReadonlyMap<string, number>;
  readonly projects: readonly RedmineProject[];
  /** The user id, by login. */
  idOf(login: string): number;
}

export interface RedmineProject {
  readonly id: number;
  readonly identifier: string;
  readonly parent: number | null;
  readonly isPublic: boolean;
  status: number;
}

/** An issue in the shape of `GET /issues.json`. */
export function issueRecord(issue: FakeIssue, world: RedmineWorld) {
  const id = Number(issue.id);
  const project = projectFor(issue.id, world);
  return {
    id,
    project: { id: project?.id, name: project?.identifier },
    tracker: { id: 1, name: 'Bug' },
    status: STATUSES.find(({ name }) => name === issue.state),
    priority: { id: 2, name: PRIORITIES[issue.priority ?? 0] },
    author: person(issue.author, world),
    ...(issue.assignee === null ? {} : { assigned_to: person(issue.assignee, world) }),
    category: { id: 1, name: 'Front End' },
    ...(issue.isMalformed ? {} : { subject: issue.title }),
    description: issue.description,
    start_date: '2026-01-01',
    due_date: null,
    done_ratio: 0,
    is_private: false,
    estimated_hours: null,
    total_estimated_hours: null,
    custom_fields: [
      { id: 1, name: 'Area', multiple: true, value: issue.labels },
      { id: 2, name: 'Hint', value: 'some text' },
      { id: 3, name: 'Flag', value: '1' },
    ],
    created_on: issue.createdAt,
    updated_on: issue.updatedAt,
    closed_on: null,
  };
}

/** A relation is stored once and listed on both issues, unless the other issue is hidden from the account. */
export function relationsOf(id: string, world: RedmineWorld) {
  const { board } = world;
  const isSeen = (number: number) => projectFor(String(number), world)?.isPublic !== false;
  return [...board.values()]
    .flatMap((to) => to.blockedBy.map((from) => ({ from, to: to.id })))
    .map(({ from, to }, n) => ({ id: n + 1, issue_id: Number(from), issue_to_id: Number(to) }))
    .map((relation) => ({ ...relation, relation_type: 'blocks', delay: null }))
    .filter(({ issue_id: from, issue_to_id: to }) => String(from) === id || String(to) === id)
    .filter(({ issue_id: from, issue_to_id: to }) => isSeen(from) && isSeen(to));
}

export function journalsOf(issue: FakeIssue, world: RedmineWorld, privateNotes: ReadonlySet<string>) {
  const first = Number(issue.id) * 1_000;
  const change = { property: 'attr', name: 'status_id', old_value: '1', new_value: '2' };
  return [
    {
      ...{ id: first, user: person('ann', world), notes: '', created_on: issue.createdAt, private_notes: false },
      details: [change],
    },
    ...issue.comments.map(({ author, body, createdAt }, n) => ({
      ...{ id: first + n + 1, user: person(author, world), notes: body, created_on: createdAt },
      ...{ private_notes: privateNotes.has(body), details: [] },
    })),
  ];
}

export function projectFor(id: string, { projectOf, projects }: RedmineWorld): RedmineProject | undefined {
  return projects.find((project) => project.id === (projectOf.get(id) ?? 1));
}

/** Blocked issues cannot be closed, and the workflow of the test can forbid further states. */
export function allowedStatuses(issue: FakeIssue, { board }: RedmineWorld, forbidden: ReadonlySet<string>) {
  const isBlocked = issue.blockedBy.some((id) => !isClosed(board.get(id)?.state));
  return STATUSES.filter(
    ({ name, is_closed: closes }) => name === issue.state || (!forbidden.has(name) && !(isBlocked && closes)),
  );
}

export function isClosed(state: string | undefined): boolean {
  return STATUSES.some(({ name, is_closed: closes }) => name === state && closes);
}

export function person(login: string, { idOf }: Pick<RedmineWorld, 'idOf'>) {
  return { id: idOf(login), name: shownName(login) };
}

/** The display name differs from the login. */
function shownName(login: string): string {
  return `${login.slice(0, 1).toUpperCase()}${login.slice(1)} Test`;
}
