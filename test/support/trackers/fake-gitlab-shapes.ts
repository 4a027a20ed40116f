import type { FakeLabelEvent, GitlabWorld } from './fake-gitlab.js';
import type { FakeIssue, FakeTracker } from './fake-tracker.js';

const WEB = 'https://gitlab.example.org';

/** An issue as the REST API tells it. */
export function issueShape(issue: FakeIssue, world: GitlabWorld) {
  const { id } = issue;
  const people = world.assignees.get(id) ?? (issue.assignee === null ? [] : [issue.assignee]);
  const type = world.types.get(id) ?? 'issue';
  return {
    id: 900_000 + Number(id),
    iid: Number(id),
    project_id: 4_711,
    ...(issue.isMalformed ? {} : { title: issue.title }),
    description: issue.description,
    state: issue.state === 'closed' ? 'closed' : 'opened',
    created_at: issue.createdAt,
    updated_at: issue.updatedAt,
    closed_at: null,
    closed_by: null,
    labels: labelsOf(issue),
    milestone: null,
    assignees: people.map(userShape),
    author: userShape(issue.author),
    type: type.toUpperCase(),
    assignee: people[0] === undefined ? null : userShape(people[0]),
    user_notes_count: issue.comments.length,
    due_date: null,
    confidential: false,
    discussion_locked: world.locked.has(id) ? true : null,
    issue_type: type,
    web_url: `${WEB}/${world.project}/-/issues/${id}`,
    weight: null,
    blocking_issues_count: 0,
    references: { short: `#${id}`, relative: `#${id}`, full: `${world.project}#${id}` },
    severity: 'UNKNOWN',
    moved_to_id: null,
    service_desk_reply_to: null,
  };
}

/** As they are spelled; a state that GitLab does not know is one of them. */
export function labelsOf({ labels, state, priority }: FakeIssue): readonly string[] {
  const isBuiltIn = ['opened', 'closed'].includes(state);
  return [...labels, ...(isBuiltIn ? [] : [state]), ...(priority === null ? [] : [`priority::${priority}`])];
}

/** Comments of people and GitLab's own, in the order and of the kind that was asked for. */
export function noteShapes(issue: FakeIssue, query: URLSearchParams, { activity }: GitlabWorld): readonly object[] {
  const kind = query.get('activity_filter') ?? 'all_notes';
  const comments = issue.comments.map(({ author, body, createdAt }) => noteShape(author, body, createdAt, false));
  const own = (activity.get(issue.id) ?? []).map(({ by, body, at }) => noteShape(by, body, at, true));
  const all = [...(kind === 'only_activity' ? [] : comments), ...(kind === 'only_comments' ? [] : own)];
  const oldestFirst = all.sort((one, other) => Date.parse(one.created_at) - Date.parse(other.created_at));
  return query.get('sort') === 'asc' ? oldestFirst : oldestFirst.reverse();
}

export function noteShape(author: string, body: string, at: string, isSystem: boolean) {
  return {
    id: 302,
    type: null,
    body,
    author: userShape(author),
    created_at: at,
    updated_at: at,
    system: isSystem,
    noteable_type: 'Issue',
    resolvable: false,
    confidential: false,
    internal: false,
  };
}

export function labelEventShape({ at, label, by = 'ann', action = 'add' }: FakeLabelEvent, n: number) {
  return {
    id: n + 1,
    user: userShape(by),
    created_at: at,
    resource_type: 'Issue',
    resource_id: 253,
    label: { id: 73, name: label, color: '#34495E', description: '' },
    action,
  };
}

/** Everyone on the board who is a member, as a developer, and whom the test named. */
export function memberShapes(board: FakeTracker['board'], { members, user }: GitlabWorld): readonly object[] {
  const written = [...board.values()].flatMap((issue) => [issue, ...issue.comments]);
  const logins = new Set(written.flatMap(({ author, isMember }) => (isMember ? [author] : [])));
  const all = new Map([
    ...(user === null ? [] : [[user, { level: 30 }] as const]),
    ...[...logins].map((login) => [login, { level: 30 }] as const),
    ...members,
  ]);
  return [...all].map(([login, { level, state = 'active', membership = 'active' }], n) => ({
    ...userShape(login),
    ...{ id: n + 1, state, access_level: level, membership_state: membership, expires_at: null },
  }));
}

export function projectShape(world: GitlabWorld, id: number) {
  const fullPath = world.renamedTo ?? world.project;
  return {
    id,
    path: fullPath.split('/').at(-1),
    path_with_namespace: fullPath,
    web_url: `${WEB}/${fullPath}`,
    visibility: 'private',
    archived: world.isArchived,
    issues_enabled: world.hasIssues,
    issues_access_level: world.hasIssues ? 'enabled' : 'disabled',
    permissions: {
      project_access: null,
      group_access: world.level === null ? null : { access_level: world.level, notification_level: 3 },
    },
  };
}

function userShape(login: string) {
  return { id: 42, username: login, name: `${login} Test`, state: 'active', locked: false, web_url: `${WEB}/${login}` };
}
