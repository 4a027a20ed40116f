// Boards of many issues in the form of each tracker, following its documentation: pages and queries.
const PAGE = 100;
const TEXT = 'What is to be done, with the reasons for it, in the words of somebody who has seen it happen. '.repeat(8);
const PEOPLE = 40;
/** One a minute. */
const at = (n) => new Date(Date.UTC(2026, 0, 1) + n * 60_000).toISOString().replace('.000', '');

/** By kind: settings, and `answer(method, path, query, body)`, which returns null for an unknown request. */
export const BOARDS = {
  github: (count) => ({
    provider: { repo: 'acme/app' },
    variables: { GITHUB_TOKEN: 'bench' },
    states: ['open'],
    answer(_, path, query) {
      if (path === '/repos/acme/app') return { full_name: 'acme/app', private: true, has_issues: true };
      return path === '/repos/acme/app/issues' ? pageOf(count, githubIssue, query, 'page') : null;
    },
    headers(path, query, origin) {
      const next = Number(query.get('page') ?? 1) + 1;
      if (!path.endsWith('/issues') || (next - 1) * PAGE >= count) return {};
      const asked = new URLSearchParams([...query, ['page', String(next)]]);
      if (query.has('page')) asked.delete('page');
      asked.set('page', String(next));
      return { link: `<${origin}${path}?${asked}>; rel="next"` };
    },
  }),
  gitlab: (count) => ({
    provider: { project: 'acme/app' },
    variables: { GITLAB_TOKEN: 'bench' },
    states: ['opened'],
    answer(_, path, query, body) {
      if (path === '/api/v4/projects/acme%2Fapp')
        return { id: 1, path_with_namespace: 'acme/app', issues_enabled: true };
      if (path.endsWith('/issues')) return pageOf(count, gitlabIssue, query, 'page');
      if (path.includes('/members/'))
        return Array.from({ length: PEOPLE }, (_, n) => ({ ...gitlabPerson(n), access_level: 40, state: 'active' }));
      if (path === '/api/graphql')
        return {
          data: { project: { workItems: { nodes: body.variables.iids.map((iid) => ({ iid, widgets: [] })) } } },
        };
      return null;
    },
    headers: (path, query) => {
      const page = Number(query.get('page') ?? 1);
      return path.endsWith('/issues') ? { 'x-next-page': page * PAGE < count ? String(page + 1) : '' } : {};
    },
  }),
  jira: (count) => ({
    provider: { project: 'APP', email: 'bench@example.org' },
    variables: { JIRA_API_TOKEN: 'bench' },
    states: ['To Do'],
    answer(_, path, __, body) {
      if (path.endsWith('/project/APP')) return { id: '1', key: 'APP', name: 'App', projectTypeKey: 'software' };
      if (path.endsWith('/statuses'))
        return [
          {
            statuses: [
              { id: '1', name: 'To Do' },
              { id: '2', name: 'In Progress' },
              { id: '3', name: 'Done' },
            ],
          },
        ];
      if (!path.endsWith('/search/jql')) return path.endsWith('/myself') ? { accountId: 'me' } : null;
      const from = Number(body.nextPageToken ?? 0);
      const end = Math.min(count, from + PAGE);
      const issues = some(from, end, jiraIssue);
      return end < count ? { issues, isLast: false, nextPageToken: String(end) } : { issues, isLast: true };
    },
    headers: () => ({}),
  }),
  linear: (count) => ({
    provider: { project_slug: 'app-0123456789ab' },
    path: '/graphql',
    variables: { LINEAR_API_KEY: 'bench' },
    states: ['Todo'],
    answer(_, __, ___, { variables }) {
      const states = {
        nodes: ['Todo', 'In Progress', 'Done'].map((name, position) => ({ name, type: 'started', position })),
      };
      const project = { id: 'p', name: 'App', teams: { nodes: [{ key: 'APP', states }] } };
      if (variables.filter === undefined)
        return {
          data: {
            viewer: { id: 'me', name: 'Me', displayName: 'me', email: 'me@example.org' },
            projects: { nodes: [project] },
          },
        };
      const from = Number(variables.after ?? 0);
      const end = Math.min(count, from + variables.first);
      const issues = {
        nodes: some(from, end, linearIssue),
        pageInfo: { hasNextPage: end < count, endCursor: String(end) },
      };
      return { data: { projects: { nodes: [{ id: 'p' }] }, issues } };
    },
    headers: () => ({ 'x-ratelimit-requests-remaining': '1000', 'x-ratelimit-requests-reset': '9999999999999' }),
  }),
  redmine: (count) => ({
    provider: { project: 'app', label_fields: ['Area'] },
    variables: { REDMINE_API_KEY: 'bench' },
    states: ['New'],
    answer(_, path, query) {
      if (path === '/users/current.json') return { user: { id: 1, login: 'me', admin: false } };
      if (path === '/issue_statuses.json')
        return {
          issue_statuses: [
            { id: 1, name: 'New' },
            { id: 5, name: 'Closed' },
          ],
        };
      if (path !== '/issues.json') return null;
      const offset = Number(query.get('offset'));
      return {
        issues: some(offset, Math.min(count, offset + PAGE), redmineIssue),
        total_count: count,
        offset,
        limit: PAGE,
      };
    },
    headers: () => ({}),
  }),
};

function some(from, end, make) {
  return Array.from({ length: Math.max(0, end - from) }, (_, n) => make(from + n + 1));
}

function pageOf(count, make, query, key) {
  const from = (Number(query.get(key) ?? 1) - 1) * PAGE;
  return some(from, Math.min(count, from + PAGE), make);
}

function githubPerson(n) {
  const login = `person-${n % PEOPLE}`;
  const api = `https://api.github.com/users/${login}`;
  const links = [
    'followers',
    'following',
    'gists',
    'starred',
    'subscriptions',
    'orgs',
    'repos',
    'events',
    'received_events',
  ];
  return {
    ...{
      login,
      id: 1000 + (n % PEOPLE),
      node_id: 'MDQ6VXNlcjEwMDA=',
      avatar_url: `https://avatars.githubusercontent.com/u/${n}?v=4`,
      gravatar_id: '',
    },
    ...{ url: api, html_url: `https://github.com/${login}` },
    ...Object.fromEntries(links.map((link) => [`${link}_url`, `${api}/${link}{/other}`])),
    ...{ type: 'User', user_view_type: 'public', site_admin: false },
  };
}

function githubIssue(number) {
  const url = `https://api.github.com/repos/acme/app/issues/${number}`;
  const label = (name) => ({
    id: 7,
    node_id: 'LA_kwDOA',
    url: `https://api.github.com/repos/acme/app/labels/${name}`,
    name,
    color: 'ededed',
    default: false,
    description: 'Something about it',
  });
  const counts = { '+1': 0, '-1': 0, laugh: 0, hooray: 0, confused: 0, heart: 0, rocket: 0, eyes: 0 };
  return {
    ...{
      url,
      repository_url: 'https://api.github.com/repos/acme/app',
      labels_url: `${url}/labels{/name}`,
      comments_url: `${url}/comments`,
      events_url: `${url}/events`,
    },
    ...{
      html_url: `https://github.com/acme/app/issues/${number}`,
      id: 3_000_000_000 + number,
      node_id: `I_kwDOA${number}`,
      number,
      title: `Number ${number} does not work`,
    },
    ...{
      user: githubPerson(number),
      labels: ['baton', 'bug'].map(label),
      state: 'open',
      locked: false,
      assignee: null,
      assignees: [],
      milestone: null,
      comments: 3,
    },
    ...{
      created_at: at(number),
      updated_at: at(number),
      closed_at: null,
      author_association: 'MEMBER',
      type: null,
      active_lock_reason: null,
      body: TEXT,
      closed_by: null,
    },
    ...{
      reactions: { url: `${url}/reactions`, total_count: 0, ...counts },
      timeline_url: `${url}/timeline`,
      performed_via_github_app: null,
      state_reason: null,
    },
    ...{
      sub_issues_summary: { total: 0, completed: 0, percent_completed: 0 },
      issue_dependencies_summary: { blocked_by: 0, total_blocked_by: 0, blocking: 0, total_blocking: 0 },
    },
  };
}

function gitlabPerson(n) {
  const username = `person-${n % PEOPLE}`;
  return {
    id: n % PEOPLE,
    username,
    public_email: '',
    name: `Person ${n % PEOPLE}`,
    state: 'active',
    locked: false,
    avatar_url: `https://gitlab.com/uploads/-/system/user/avatar/${n}/avatar.png`,
    web_url: `https://gitlab.com/${username}`,
  };
}

function gitlabIssue(iid) {
  const api = `https://gitlab.com/api/v4/projects/1/issues/${iid}`;
  return {
    ...{
      id: 90_000 + iid,
      iid,
      project_id: 1,
      title: `Number ${iid} does not work`,
      description: TEXT,
      state: 'opened',
      created_at: at(iid),
      updated_at: at(iid),
      closed_at: null,
      closed_by: null,
    },
    ...{
      labels: ['baton', 'bug'],
      milestone: null,
      assignees: [],
      author: gitlabPerson(iid),
      type: 'ISSUE',
      assignee: null,
      user_notes_count: 3,
      merge_requests_count: 0,
      upvotes: 0,
      downvotes: 0,
    },
    ...{
      due_date: null,
      confidential: false,
      discussion_locked: null,
      issue_type: 'issue',
      web_url: `https://gitlab.com/acme/app/-/issues/${iid}`,
      blocking_issues_count: 0,
      has_tasks: false,
    },
    ...{
      time_stats: { time_estimate: 0, total_time_spent: 0, human_time_estimate: null, human_total_time_spent: null },
      task_completion_status: { count: 0, completed_count: 0 },
    },
    ...{
      _links: {
        self: api,
        notes: `${api}/notes`,
        award_emoji: `${api}/award_emoji`,
        project: 'https://gitlab.com/api/v4/projects/1',
        closed_as_duplicate_of: null,
      },
    },
    ...{
      references: { short: `#${iid}`, relative: `#${iid}`, full: `acme/app#${iid}` },
      severity: 'UNKNOWN',
      moved_to_id: null,
      imported: false,
      service_desk_reply_to: null,
    },
  };
}

function jiraPerson(n) {
  const accountId = `5b10a2844c20165700ede${n % PEOPLE}`;
  const sizes = ['48x48', '24x24', '16x16', '32x32'].map((size) => [
    size,
    `https://avatar.example.org/${accountId}/${size}.png`,
  ]);
  return {
    self: `https://acme.atlassian.net/rest/api/3/user?accountId=${accountId}`,
    accountId,
    avatarUrls: Object.fromEntries(sizes),
    displayName: `Person ${n % PEOPLE}`,
    active: true,
    timeZone: 'Etc/GMT',
    accountType: 'atlassian',
  };
}

function jiraIssue(n) {
  const api = 'https://acme.atlassian.net/rest/api/3';
  const paragraph = (text) => ({ type: 'paragraph', content: [{ type: 'text', text }] });
  const category = { self: `${api}/statuscategory/2`, id: 2, key: 'new', colorName: 'blue-gray', name: 'To Do' };
  return {
    ...{
      expand: 'operations,versionedRepresentations,editmeta',
      id: String(10_000 + n),
      self: `${api}/issue/${n}`,
      key: `APP-${n}`,
    },
    fields: {
      summary: `Number ${n} does not work`,
      description: { type: 'doc', version: 1, content: TEXT.match(/.{1,200}/g).map(paragraph) },
      status: {
        self: `${api}/status/1`,
        description: '',
        iconUrl: 'https://acme.atlassian.net/',
        name: 'To Do',
        id: '1',
        statusCategory: category,
      },
      priority: {
        self: `${api}/priority/3`,
        iconUrl: 'https://acme.atlassian.net/images/medium.svg',
        name: 'Medium',
        id: '3',
      },
      ...{
        labels: ['baton', 'bug'],
        issuelinks: [],
        assignee: null,
        creator: jiraPerson(n),
        created: `${at(n).slice(0, -1)}.000+0000`,
        updated: `${at(n).slice(0, -1)}.000+0000`,
      },
      project: {
        self: `${api}/project/1`,
        id: '1',
        key: 'APP',
        name: 'App',
        projectTypeKey: 'software',
        simplified: false,
        avatarUrls: jiraPerson(1).avatarUrls,
      },
    },
  };
}

function linearIssue(n) {
  const person = {
    id: `user-${n % PEOPLE}`,
    name: `Person ${n}`,
    displayName: `person-${n % PEOPLE}`,
    email: `person-${n % PEOPLE}@example.org`,
    active: true,
    guest: false,
    app: false,
  };
  const none = { nodes: [], pageInfo: { hasNextPage: false } };
  return {
    ...{
      id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
      identifier: `APP-${n}`,
      title: `Number ${n} does not work`,
      description: TEXT,
      priority: 2,
    },
    ...{
      branchName: `ann/app-${n}-does-not-work`,
      url: `https://linear.app/acme/issue/APP-${n}/does-not-work`,
      createdAt: at(n),
      updatedAt: at(n),
      archivedAt: null,
      trashed: null,
    },
    ...{
      state: { name: 'Todo' },
      assignee: null,
      creator: person,
      externalUserCreator: null,
      asksExternalUserRequester: null,
      botActor: null,
    },
    ...{
      labels: { nodes: [{ name: 'baton' }, { name: 'bug' }], pageInfo: { hasNextPage: false } },
      inverseRelations: none,
    },
  };
}

function redmineIssue(id) {
  const person = { id: id % PEOPLE, name: `Person ${id % PEOPLE}` };
  return {
    ...{
      id,
      project: { id: 1, name: 'App' },
      tracker: { id: 1, name: 'Bug' },
      status: { id: 1, name: 'New', is_closed: false },
      priority: { id: 2, name: 'Normal' },
      author: person,
    },
    ...{
      assigned_to: person,
      category: { id: 1, name: 'Front End' },
      subject: `Number ${id} does not work`,
      description: TEXT,
      start_date: '2026-01-01',
      due_date: null,
      done_ratio: 0,
      is_private: false,
    },
    ...{
      estimated_hours: null,
      total_estimated_hours: null,
      spent_hours: 0,
      total_spent_hours: 0,
      custom_fields: [{ id: 1, name: 'Area', value: 'baton' }],
      created_on: at(id),
      updated_on: at(id),
      closed_on: null,
      relations: [],
    },
  };
}
