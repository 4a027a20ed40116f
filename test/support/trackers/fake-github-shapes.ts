import type { GithubWorld } from './fake-github.js';
import type { FakeIssue, FakeTracker } from './fake-tracker.js';

export const WEB = 'https://api.github.com';

/** An issue as the REST API tells it. */
export function issueShape(issue: FakeIssue, world: GithubWorld, board: FakeTracker['board']) {
  const { repo, pulls, locked, foreignBlockers, hasDependencies, assignees } = world;
  const { id } = issue;
  const number = Number(id);
  const isBuiltIn = ['open', 'closed'].includes(issue.state);
  const names = [...issue.labels, ...(isBuiltIn ? [] : [issue.state]), ...priorityLabels(issue)];
  const people = (assignees.get(id) ?? (issue.assignee === null ? [] : [issue.assignee])).map(userShape);
  const blockers = issue.blockedBy.map((each) => board.get(each)?.state);
  const foreign = foreignBlockers.get(id) ?? [];
  const open = [...blockers, ...foreign.map(({ state }) => state)].filter((state) => state !== 'closed');
  return {
    id: 5_000_000 + number,
    node_id: `I_kwDOA${id}`,
    url: `${WEB}/repos/${repo}/issues/${id}`,
    repository_url: `${WEB}/repos/${repo}`,
    html_url: `https://github.com/${repo}/issues/${id}`,
    number,
    ...(issue.isMalformed ? {} : { title: issue.title }),
    body: issue.description,
    user: userShape(issue.author),
    author_association: issue.isMember ? 'MEMBER' : 'NONE',
    labels: names.map((name, n) => ({ id: n, name, color: 'ededed', default: false, description: null })),
    state: issue.state === 'closed' ? 'closed' : 'open',
    state_reason: issue.state === 'closed' ? 'completed' : null,
    locked: locked.has(id),
    assignee: people[0] ?? null,
    assignees: people,
    milestone: null,
    comments: issue.comments.length,
    created_at: issue.createdAt.replace('.000Z', 'Z'),
    updated_at: issue.updatedAt.replace('.000Z', 'Z'),
    closed_at: null,
    ...(pulls.has(id) ? { pull_request: { url: `${WEB}/repos/${repo}/pulls/${id}` } } : {}),
    ...(hasDependencies
      ? {
          issue_dependencies_summary: {
            blocked_by: open.length,
            total_blocked_by: blockers.length + foreign.length,
            blocking: 0,
            total_blocking: 0,
          },
        }
      : {}),
  };
}

export function commentShape(comment: FakeIssue['comments'][number], n: number, id = '') {
  const { author, isMember, body, createdAt } = comment;
  return {
    id: 9_000_000 + n,
    node_id: `IC_kwDOA${id}_${n}`,
    body,
    user: userShape(author),
    author_association: isMember ? 'COLLABORATOR' : 'NONE',
    created_at: createdAt,
    updated_at: createdAt,
  };
}

export function repositoryShape(world: GithubWorld, id: number) {
  const { isPublic, hasIssues, isArchived, permissions } = world;
  const fullName = world.renamedTo ?? world.repo;
  return {
    id,
    name: fullName.split('/')[1],
    full_name: fullName,
    private: !isPublic,
    visibility: isPublic ? 'public' : 'private',
    has_issues: hasIssues,
    archived: isArchived,
    permissions: { admin: false, maintain: false, pull: true, ...permissions },
  };
}

function userShape(login: string) {
  return login === 'ghost' ? null : { login, id: 42, type: login.endsWith('[bot]') ? 'Bot' : 'User' };
}

function priorityLabels({ priority }: FakeIssue): readonly string[] {
  return priority === null ? [] : [`P${priority}`];
}
