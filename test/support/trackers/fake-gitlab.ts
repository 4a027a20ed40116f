import { createHash } from 'node:crypto';
import { BLOCKERS_QUERY } from '../../../src/tracker/gitlab/read.js';
import { gitlabTracker } from '../../../src/tracker/gitlab/tracker.js';
import { type FakeAnswer, type FakeRequest, fakeServer } from './fake-server.js';
import { addTo, type FakeIssue, type FakeTracker } from './fake-tracker.js';

export interface FakeLabelEvent {
  readonly at: string;
  readonly label: string;
  /** Default: Ann. */
  readonly by?: string;
  readonly action?: string;
}

/** The data of GitLab besides the board. Tests change it. */
interface GitlabWorld {
  readonly project: string;
  /** The new path of a renamed project. */
  renamedTo: string | null;
  hasIssues: boolean;
  isArchived: boolean;
  /** The token's level of access; `null`: unknown. */
  level: number | null;
  /** `null`: the token may not read its owner. */
  user: string | null;
  /** State labels: an opened issue of the board is in that state while it carries one. */
  readonly stateLabels: string[];
  /** Every label that exists. */
  readonly labels: string[];
  /** By id: the type of a work item that is no plain issue. */
  readonly types: Map<string, string>;
  /** Ids that the token may not see. */
  readonly hidden: Set<string>;
  readonly locked: Set<string>;
  readonly assignees: Map<string, readonly string[]>;
  /** By login, besides those of the board. */
  readonly members: Map<string, { readonly level: number; readonly state?: string; readonly membership?: string }>;
  /** The notes of GitLab itself, by id of the issue. */
  readonly activity: Map<string, { readonly at: string; readonly by: string; readonly body: string }[]>;
  readonly labelEvents: Map<string, FakeLabelEvent[]>;
  /** The first field of a query that this edition does not have. */
  missingField: string | null;
  /** Blockers in other projects, by id of the blocked. */
  readonly foreignBlockers: Map<string, { readonly reference: string; readonly state: string }[]>;
  /** How many open blockers the token may not see, by id of the blocked. */
  readonly hiddenBlockers: Map<string, number>;
  /** Changes of labels and state are ignored without an error. */
  isChangeIgnored: boolean;
  readonly quota: { remaining: number; readonly resetAtSeconds: number };
}

export interface FakeGitlab extends FakeTracker {
  readonly world: GitlabWorld;
}

const TOKEN = 'glpat-canary0000fake0000token';
const PROJECT = 'acme/tools/widgets';
export const PROJECT_ID = 4_711;

/** A server with GitLab's REST API, below `root` of its host. It rejects unknown requests. */
export async function startFakeGitlab(root = ''): Promise<FakeGitlab> {
  const board: FakeTracker['board'] = new Map();
  const world = newWorld();
  const server = await fakeServer((asked) => withHeaders(answerTo(asked, root, { world, board }), asked, world));
  const highest = { iid: 0 };
  const naming = () => {
    highest.iid++;
    return { id: String(highest.iid), identifier: `GL-${highest.iid}` };
  };
  return {
    ...{ kind: 'gitlab', entry: gitlabTracker, server, board, world, add: addTo(board, naming, 'opened') },
    provider: { project: PROJECT, endpoint: `${server.url}${root}` },
    ...{ variable: 'GITLAB_TOKEN', token: TOKEN },
  };
}

function newWorld(): GitlabWorld {
  return {
    ...{ project: PROJECT, renamedTo: null, hasIssues: true, isArchived: false, level: 30, user: 'baton-bot' },
    ...{ stateLabels: ['In progress', 'Review'], labels: ['In progress', 'Review'], types: new Map() },
    ...{ hidden: new Set<string>(), locked: new Set<string>(), assignees: new Map(), members: new Map() },
    ...{ activity: new Map(), labelEvents: new Map(), missingField: null },
    ...{ foreignBlockers: new Map(), hiddenBlockers: new Map(), isChangeIgnored: false },
    quota: { remaining: 1_990, resetAtSeconds: Math.floor(Date.now() / 1000) + 60 },
  };
}

interface GitlabScene {
  readonly world: GitlabWorld;
  readonly board: FakeTracker['board'];
}

function answerTo(asked: FakeRequest, root: string, scene: GitlabScene): FakeAnswer {
  const { method, url, headers } = asked;
  const { world } = scene;
  if (headers['private-token'] !== TOKEN) return refusal(401, '401 Unauthorized');
  if (method === 'POST' && url.pathname === `${root}/api/graphql`) return answerBlockers(asked, scene);
  if (!url.pathname.startsWith(`${root}/api/v4/`)) return refusal(404, '404 Not Found');
  const [first, name = '', ...rest] = url.pathname.slice(`${root}/api/v4/`.length).split('/').map(decodeURIComponent);
  if (method === 'GET' && first === 'user' && name === '') {
    return world.user === null
      ? { status: 403, body: { error: 'insufficient_scope', scope: 'api read_user' } }
      : { body: { id: 7, username: world.user, name: world.user, state: 'active' } };
  }
  const isNamed = [PROJECT, String(PROJECT_ID), world.renamedTo?.toLowerCase()].includes(name.toLowerCase());
  if (first !== 'projects' || !isNamed) return refusal(404, '404 Project Not Found');
  if (rest.length === 0 && method === 'GET') return { body: projectShape(world, PROJECT_ID) };
  return rest[0] === 'issues' ? answerIssues(asked, scene, rest) : answerBesides(asked, scene, rest.join('/'));
}

function answerIssues(asked: FakeRequest, scene: GitlabScene, [, iid, part, ...more]: readonly string[]): FakeAnswer {
  const { world, board } = scene;
  const { method } = asked;
  if (iid === undefined) {
    if (method === 'GET') return listIssues(asked, scene);
    return method === 'POST' ? { status: 201, body: { iid: 99, ...asked.body } } : refusal(405, '405 Not Allowed');
  }
  const issue = world.hasIssues && !world.hidden.has(iid) ? board.get(iid) : undefined;
  if (!issue || more.length > 0) return refusal(404, '404 Not Found');
  switch (`${method} ${part ?? ''}`.trim()) {
    case 'GET':
      return { body: issueShape(issue, world) };
    case 'PUT':
      return changeIssue(issue, asked.body, world);
    case 'GET notes':
      return paged(asked, ['sort', 'order_by', 'activity_filter'], noteShapes(issue, asked.url.searchParams, world));
    case 'POST notes':
      return createNote(issue, asked.body, world);
    case 'GET resource_label_events':
      return paged(asked, [], (world.labelEvents.get(iid) ?? []).map(labelEventShape));
    case 'POST links':
      return { status: 201, body: { link_type: asked.body.link_type } };
    default:
      return refusal(404, '404 Not Found');
  }
}

function answerBesides(asked: FakeRequest, { world, board }: GitlabScene, part: string): FakeAnswer {
  const { method, url } = asked;
  if (method === 'GET' && part === 'members/all') return paged(asked, [], memberShapes(board, world));
  if (method === 'GET' && part === 'labels') {
    const search = url.searchParams.get('search')?.toLowerCase() ?? '';
    const found = world.labels.filter((name) => name.toLowerCase().includes(search));
    return paged(
      asked,
      ['search'],
      found.map((name, n) => ({ id: n + 1, name, color: '#428BCA' })),
    );
  }
  if (method === 'POST' && part === 'merge_requests') return { status: 201, body: { iid: 3, ...asked.body } };
  return refusal(404, '404 Not Found');
}

function listIssues(asked: FakeRequest, { world, board }: GitlabScene): FakeAnswer {
  const { searchParams } = asked.url;
  const iids = searchParams.getAll('iids[]');
  const state = searchParams.get('state') ?? 'all';
  const found = [...board.values()]
    .filter(({ id }) => world.hasIssues && !world.hidden.has(id) && (iids.length === 0 || iids.includes(id)))
    .map((issue) => issueShape(issue, world))
    .filter((shape) => state === 'all' || shape.state === state);
  if (searchParams.get('sort') !== 'asc') found.reverse();
  return paged(asked, ['iids[]', 'state', 'scope', 'order_by', 'sort'], found);
}

/** The header of the last page is empty. */
function paged({ url }: FakeRequest, known: readonly string[], all: readonly unknown[]): FakeAnswer {
  const stranger = [...url.searchParams.keys()].find((key) => ![...known, 'per_page', 'page'].includes(key));
  if (stranger !== undefined) return { status: 400, body: { error: `the fake does not know ${stranger}` } };
  const size = Math.min(Number(url.searchParams.get('per_page') ?? 20), 100);
  const page = Number(url.searchParams.get('page') ?? 1);
  const pages = Math.max(1, Math.ceil(all.length / size));
  const headers = {
    ...{ 'x-page': String(page), 'x-per-page': String(size), 'x-total': String(all.length) },
    ...{ 'x-total-pages': String(pages), 'x-next-page': page < pages ? String(page + 1) : '' },
    'x-prev-page': page > 1 ? String(page - 1) : '',
  };
  return { body: all.slice((page - 1) * size, page * size), headers };
}

function withHeaders(answer: FakeAnswer, { method, headers }: FakeRequest, { quota }: GitlabWorld): FakeAnswer {
  if (answer === 'hang') return answer;
  // Unlike GitHub, GitLab counts a 304.
  quota.remaining--;
  const limits = {
    ...{ 'ratelimit-limit': '2000', 'ratelimit-name': 'throttle_authenticated_api' },
    ...{ 'ratelimit-remaining': String(quota.remaining), 'ratelimit-reset': String(quota.resetAtSeconds) },
  };
  const digest = createHash('md5')
    .update(JSON.stringify(answer.body ?? null))
    .digest('hex');
  const etag = `W/"${digest}"`;
  const isRead = method === 'GET' && (answer.status ?? 200) === 200;
  const all = { ...(isRead ? { etag } : {}), ...limits, ...answer.headers };
  return isRead && headers['if-none-match'] === etag ? { status: 304, headers: all } : { ...answer, headers: all };
}

function refusal(status: number, message: unknown): FakeAnswer {
  return { status, body: { message } };
}

const KNOWN = ['add_labels', 'remove_labels', 'state_event', 'title', 'description'];

function changeIssue(issue: FakeIssue, body: FakeRequest['body'], world: GitlabWorld): FakeAnswer {
  const stranger = Object.keys(body).find((key) => !KNOWN.includes(key));
  if (stranger !== undefined) return { status: 400, body: { error: `the fake does not know ${stranger}` } };
  if (Object.keys(body).length === 0) return { status: 400, body: { error: 'labels, state_event, … are missing' } };
  if (body.title === '') return refusal(400, { title: ["can't be blank"] });
  if (world.isArchived) return refusal(403, '403 Forbidden');
  if (world.isChangeIgnored) return { body: issueShape(issue, world) };
  if (body.title !== undefined) issue.title = body.title;
  if (body.description !== undefined) issue.description = body.description;
  const carried = [...issue.labels, ...(world.stateLabels.includes(issue.state) ? [issue.state] : [])];
  const removed = namesIn(body.remove_labels);
  const labels = new Set([...carried.filter((each) => !removed.includes(each)), ...namesIn(body.add_labels)]);
  const wasOpen = issue.state !== 'closed';
  const isOpen = body.state_event === 'close' ? false : body.state_event === 'reopen' ? true : wasOpen;
  // The board has one state where GitLab has labels.
  const label = isOpen ? [...labels].find((each) => world.stateLabels.includes(each)) : undefined;
  issue.state = label ?? (isOpen ? 'opened' : 'closed');
  issue.labels = [...labels].filter((each) => each !== label);
  for (const name of labels) if (!world.labels.includes(name)) world.labels.push(name);
  return { body: issueShape(issue, world) };
}

function createNote(issue: FakeIssue, body: FakeRequest['body'], world: GitlabWorld): FakeAnswer {
  if (world.locked.has(issue.id)) return refusal(403, '403 Forbidden');
  const { body: text } = body;
  if (typeof text !== 'string' || text === '') return { status: 400, body: { error: 'body is missing' } };
  const author = world.user ?? 'token';
  const createdAt = new Date().toISOString();
  issue.comments.push({ author, isMember: true, body: text, createdAt });
  return { status: 201, body: noteShape(author, text, createdAt, false) };
}

function namesIn(value: unknown): readonly string[] {
  return typeof value === 'string' ? value.split(',').filter((name) => name !== '') : [];
}

/** Answers the one query of the adapter in the shape of GitLab's GraphQL API. */
function answerBlockers({ body }: FakeRequest, { world, board }: GitlabScene): FakeAnswer {
  const { query, variables } = body;
  if (query !== BLOCKERS_QUERY) return { body: { errors: [{ message: 'the fake does not know this query' }] } };
  if (world.missingField !== null) return { body: { errors: [undefinedField(world.missingField)] } };
  const path = world.renamedTo ?? world.project;
  if (variables.project.toLowerCase() !== path.toLowerCase()) return { body: { data: { project: null } } };
  const iids = variables.iids as string[];
  const nodes = [...board.keys()]
    .filter((id) => iids.includes(id) && !world.hidden.has(id))
    .slice(0, 100)
    .map((id) => ({ iid: id, widgets: [{}, widgetOf(id, { world, board }), {}] }));
  return { body: { data: { project: { workItems: { nodes } } } } };
}

function widgetOf(id: string, { world, board }: GitlabScene) {
  const own = (board.get(id)?.blockedBy ?? []).flatMap((each) => {
    const issue = board.get(each);
    if (!issue) return [];
    const labels = labelsOf(issue).map((title) => ({ title }));
    const state = issue.state === 'closed' ? 'CLOSED' : 'OPEN';
    return {
      ...{ iid: each, state, reference: `${world.project}#${each}` },
      widgets: [{}, { labels: { nodes: labels } }],
    };
  });
  const foreign = (world.foreignBlockers.get(id) ?? []).map(({ reference, state }) => ({
    ...{ iid: reference.split('#')[1], state, reference },
    widgets: [{ labels: { nodes: [{ title: 'Review' }] } }],
  }));
  const seen = [...own, ...foreign];
  const open = seen.filter(({ state }) => state === 'OPEN').length + (world.hiddenBlockers.get(id) ?? 0);
  const related = { linkType: 'relates_to', workItem: { iid: '77', state: 'OPEN', reference: `${world.project}#77` } };
  const blocking = { linkType: 'blocks', workItem: { iid: '78', state: 'OPEN', reference: `${world.project}#78` } };
  const links = seen.map((workItem) => ({ linkType: 'is_blocked_by', workItem }));
  return { blockedByCount: open, linkedItems: { nodes: [related, ...links, blocking] } };
}

function undefinedField(fieldName: string) {
  const message = `Field '${fieldName}' doesn't exist on type 'WorkItemWidgetLinkedItems'`;
  const extensions = { code: 'undefinedField', typeName: 'WorkItemWidgetLinkedItems', fieldName };
  return { message, locations: [{ line: 8, column: 13 }], path: ['query BatonBlockers'], extensions };
}

const WEB = 'https://gitlab.example.org';

/** An issue in the shape of the REST API. */
function issueShape(issue: FakeIssue, world: GitlabWorld) {
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
function labelsOf({ labels, state, priority }: FakeIssue): readonly string[] {
  const isBuiltIn = ['opened', 'closed'].includes(state);
  return [...labels, ...(isBuiltIn ? [] : [state]), ...(priority === null ? [] : [`priority::${priority}`])];
}

/** Comments and notes of GitLab itself, in the requested order and of the requested kind. */
function noteShapes(issue: FakeIssue, query: URLSearchParams, { activity }: GitlabWorld): readonly object[] {
  const kind = query.get('activity_filter') ?? 'all_notes';
  const comments = issue.comments.map(({ author, body, createdAt }) => noteShape(author, body, createdAt, false));
  const own = (activity.get(issue.id) ?? []).map(({ by, body, at }) => noteShape(by, body, at, true));
  const all = [...(kind === 'only_activity' ? [] : comments), ...(kind === 'only_comments' ? [] : own)];
  const oldestFirst = all.sort((one, other) => Date.parse(one.created_at) - Date.parse(other.created_at));
  return query.get('sort') === 'asc' ? oldestFirst : oldestFirst.reverse();
}

function noteShape(author: string, body: string, at: string, isSystem: boolean) {
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

function labelEventShape({ at, label, by = 'ann', action = 'add' }: FakeLabelEvent, n: number) {
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

/** The members on the board, as developers, and those of the test. */
function memberShapes(board: FakeTracker['board'], { members, user }: GitlabWorld): readonly object[] {
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

function projectShape(world: GitlabWorld, id: number) {
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
