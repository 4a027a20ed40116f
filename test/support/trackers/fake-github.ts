import { createHash } from 'node:crypto';
import { githubTracker } from '../../../src/tracker/github/tracker.js';
import { EDITORS_QUERY, HISTORY_QUERY } from '../../../src/tracker/github/trust.js';
import { type FakeAnswer, type FakeRequest, fakeServer } from './fake-server.js';
import { addTo, type FakeIssue, type FakeTracker } from './fake-tracker.js';

/** The data of GitHub besides the board. Tests change it. */
interface GithubWorld {
  readonly repo: string;
  isPublic: boolean;
  hasIssues: boolean;
  isArchived: boolean;
  /** The new name of a renamed repository. */
  renamedTo: string | null;
  /** What the token's owner may do there. */
  permissions: { readonly push: boolean; readonly triage: boolean };
  /** `null`: the token of an app. */
  user: string | null;
  /** State labels: an open issue of the board is in that state while it carries one. */
  readonly stateLabels: string[];
  /** Every label that exists. */
  readonly labels: string[];
  /** Ids on the board that are pull requests. */
  readonly pulls: Set<string>;
  /** Ids that were transferred to another repository. */
  readonly transferred: Set<string>;
  /** Issues of other repositories that block one, by its id. */
  readonly foreignBlockers: Map<string, { readonly repo: string; readonly number: number; readonly state: string }[]>;
  readonly locked: Set<string>;
  /** Whether the server offers dependencies of issues. */
  hasDependencies: boolean;
  readonly assignees: Map<string, readonly string[]>;
  readonly histories: Map<string, FakeHistory>;
  /** Who edited a comment last, by its text. */
  readonly commentEditors: Map<string, FakeActor>;
  readonly quota: { remaining: number; readonly resetAtSeconds: number };
}

export interface FakeGithub extends FakeTracker {
  readonly world: GithubWorld;
}

const TOKEN = 'github_pat_11FAKE0000canary0000token';
const REPO = 'octo-org/widgets';
export const REPO_ID = 1_296_269;

type Route = (asked: FakeRequest, world: GithubWorld, board: FakeTracker['board'], parts: string[]) => FakeAnswer;

/** A server with the shapes, pages and errors of api.github.com. It rejects unknown requests. */
export async function startFakeGithub(root = ''): Promise<FakeGithub> {
  const board: FakeTracker['board'] = new Map();
  const world = newWorld();
  const highest = { number: 0 };
  const server = await fakeServer((asked) => {
    const answer = guarded(asked) ?? answerTo(asked, root, world, board, highest);
    return withHeaders(answer, asked, world);
  });
  const next = addTo(board, () => naming(highest), 'open');
  return {
    ...{ kind: 'github', entry: githubTracker, server, board, world, add: next },
    provider: { repo: REPO, endpoint: `${server.url}${root}` },
    ...{ variable: 'GITHUB_TOKEN', token: TOKEN },
  };
}

function naming(highest: { number: number }) {
  highest.number++;
  return { id: String(highest.number), identifier: `GH-${highest.number}` };
}

function newWorld(): GithubWorld {
  return {
    ...{ repo: REPO, isPublic: false, hasIssues: true, isArchived: false, renamedTo: null, user: 'baton-bot' },
    ...{ permissions: { push: true, triage: true }, stateLabels: ['In progress', 'Review'], labels: [] },
    ...{ pulls: new Set<string>(), transferred: new Set<string>(), locked: new Set<string>() },
    ...{ foreignBlockers: new Map(), hasDependencies: true, assignees: new Map(), histories: new Map() },
    commentEditors: new Map(),
    quota: { remaining: 4_990, resetAtSeconds: Math.floor(Date.now() / 1000) + 1_800 },
  };
}

function guarded({ headers, url }: FakeRequest): FakeAnswer | null {
  if (headers.authorization !== `Bearer ${TOKEN}`) return refusal(401, 'Bad credentials');
  if (!headers['user-agent']) return refusal(403, 'Request forbidden by administrative rules.');
  if (url.pathname.endsWith('/graphql')) return null;
  if (headers.accept !== 'application/vnd.github+json') return refusal(415, 'Unsupported Accept header');
  return headers['x-github-api-version'] === '2022-11-28' ? null : refusal(400, 'No such API version');
}

function answerTo(
  asked: FakeRequest,
  root: string,
  world: GithubWorld,
  board: FakeTracker['board'],
  highest: { readonly number: number },
): FakeAnswer {
  const { method, url } = asked;
  const graphql = `${root.replace(/\/v3$/, '')}/graphql`;
  if (method === 'POST' && url.pathname === graphql) return answerGraphql(asked, world, board);
  if (!url.pathname.startsWith(`${root}/`)) return notFound();
  const parts = url.pathname
    .slice(root.length + 1)
    .split('/')
    .map(decodeURIComponent);
  if (method === 'GET' && parts.join('/') === 'user') {
    if (world.user === null) return refusal(403, 'Resource not accessible by integration');
    return { body: { login: world.user, id: 1, type: 'User' } };
  }
  const isNumbered = parts[0] === 'repositories' && parts[1] === String(REPO_ID);
  const isNamed = parts[0] === 'repos' && `${parts[1]}/${parts[2]}`.toLowerCase() === REPO;
  if (!isNamed && !isNumbered) return notFound();
  const rest = parts.slice(isNumbered ? 2 : 3);
  if (world.renamedTo !== null && isNamed) {
    const location = `http://${asked.headers.host}${root}/repositories/${REPO_ID}${rest.map((part) => `/${part}`).join('')}${url.search}`;
    return { status: method === 'GET' ? 301 : 307, headers: { location }, body: { message: 'Moved Permanently' } };
  }
  const [, number] = rest;
  if (rest[0] === 'issues' && number !== undefined && !board.has(number)) {
    return Number(number) <= highest.number ? refusal(410, 'This issue was deleted') : notFound();
  }
  if (rest[0] === 'issues' && number !== undefined && world.transferred.has(number)) {
    const location = `http://${asked.headers.host}${root}/repositories/999/issues/7`;
    return { status: 301, headers: { location }, body: { message: 'Moved Permanently', url: location } };
  }
  if (rest[0] === 'issues' && !world.hasIssues) return refusal(410, 'Issues are disabled for this repo');
  const pattern = [method, ...rest.map((part, n) => (n === 1 && /^\d+$/.test(part) ? ':n' : part))];
  if (pattern[2] === ':n' && pattern[3] === 'labels' && pattern.length === 5) pattern[4] = ':label';
  return ROUTES[pattern.join(' ')]?.(asked, world, board, rest) ?? notFound();
}

const ROUTES: { readonly [pattern: string]: Route } = {
  GET: (_asked, world) => ({ body: repositoryShape(world, REPO_ID) }),
  'GET labels': (asked, { labels }) =>
    paged(
      asked,
      [],
      labels.map((name, id) => ({ id, name, color: 'ededed' })),
    ),
  'GET issues': (asked, world, board) => {
    const { searchParams } = asked.url;
    const state = searchParams.get('state') ?? 'open';
    const needed = (searchParams.get('labels') ?? '').split(',').filter((label) => label !== '');
    const found = [...board.values()]
      .map((issue) => issueShape(issue, world, board))
      .filter((shape) => {
        const carried = shape.labels.map(({ name }) => name.toLowerCase());
        return (
          (state === 'all' || shape.state === state) && needed.every((name) => carried.includes(name.toLowerCase()))
        );
      });
    if (searchParams.get('sort') !== 'created' || searchParams.get('direction') !== 'asc') found.reverse();
    return paged(asked, ['state', 'labels', 'sort', 'direction'], found);
  },
  'GET issues :n': (_asked, world, board, [, id]) => ({ body: issueShape(theIssue(board, id), world, board) }),
  'GET issues :n dependencies blocked_by': (asked, world, board, [, id = '']) => {
    if (!world.hasDependencies) return notFound();
    const own = theIssue(board, id).blockedBy.map((each) => issueShape(theIssue(board, each), world, board));
    const foreign = (world.foreignBlockers.get(id) ?? []).map(({ repo, number, state }) => ({
      ...{ number, state, title: 'Elsewhere', repository_url: `${WEB}/repos/${repo}`, labels: [{ name: 'Review' }] },
    }));
    return paged(asked, [], [...own, ...foreign]);
  },
  'GET issues :n comments': (asked, _world, board, [, id]) =>
    paged(
      asked,
      [],
      theIssue(board, id).comments.map((comment, n) => commentShape(comment, n, id)),
    ),
  'POST issues :n comments': ({ body }, world, board, [, id = '']) => {
    if (world.locked.has(id)) return refusal(403, 'Unable to create comment because issue is locked.');
    if (typeof body?.body !== 'string' || body.body === '') return refusal(422, 'Validation Failed');
    const comment = {
      author: world.user ?? 'app',
      isMember: true,
      body: body.body,
      createdAt: new Date().toISOString(),
    };
    theIssue(board, id).comments.push(comment);
    return { status: 201, body: commentShape(comment, 0) };
  },
  'GET issues :n labels': (asked, world, board, [, id]) =>
    paged(asked, [], issueShape(theIssue(board, id), world, board).labels),
  'POST issues :n labels': ({ body }, world, board, [, id]) => {
    const issue = theIssue(board, id);
    for (const name of body.labels as string[]) addLabel(issue, name, world);
    return { body: issueShape(issue, world, board).labels };
  },
  'DELETE issues :n labels :label': (_asked, world, board, [, id, , name = '']) => {
    const issue = theIssue(board, id);
    const before = issueShape(issue, world, board).labels.length;
    removeLabel(issue, name, world);
    const { labels } = issueShape(issue, world, board);
    return labels.length === before ? refusal(404, 'Label does not exist') : { body: labels };
  },
  'PATCH issues :n': ({ body }, world, board, [, id]) => {
    const issue = theIssue(board, id);
    const { state, ...rest } = body;
    if (!['open', 'closed'].includes(state) || Object.keys(rest).some((key) => key !== 'state_reason'))
      return refusal(422, 'Validation Failed');
    const { labels } = issueShape(issue, world, board);
    issue.state = state;
    issue.labels = [];
    for (const { name } of labels) addLabel(issue, name, world);
    return { body: issueShape(issue, world, board) };
  },
  'POST pulls': () => ({ status: 201, body: { number: 99, title: 'A pull request' } }),
};

function theIssue(board: FakeTracker['board'], id = ''): FakeIssue {
  const issue = board.get(id);
  if (!issue) throw new Error(`the fake has no issue ${id}`);
  return issue;
}

/** The state of an issue on the board, from the first state label. */
function addLabel(issue: FakeIssue, name: string, { stateLabels }: GithubWorld): void {
  if (issue.state === 'open' && stateLabels.includes(name)) issue.state = name;
  else if (issue.state !== name && !issue.labels.includes(name)) issue.labels.push(name);
}

function removeLabel(issue: FakeIssue, name: string, world: GithubWorld): void {
  const isSame = (each: string) => each.toLowerCase() === name.toLowerCase();
  issue.labels = issue.labels.filter((each) => !isSame(each));
  if (!isSame(issue.state)) return;
  issue.state = 'open';
  const rest = issue.labels;
  issue.labels = [];
  for (const label of rest) addLabel(issue, label, world);
}

/** Further pages are named by the number of the repository, as GitHub does. */
function paged({ url, headers }: FakeRequest, known: readonly string[], all: readonly unknown[]): FakeAnswer {
  const stranger = [...url.searchParams.keys()].find((key) => ![...known, 'per_page', 'page'].includes(key));
  if (stranger !== undefined) return refusal(400, `the fake does not know the field ${stranger}`);
  const size = Number(url.searchParams.get('per_page') ?? 30);
  if (!(size >= 1 && size <= 100)) return refusal(400, 'per_page is out of range');
  const page = Number(url.searchParams.get('page') ?? 1);
  const last = Math.ceil(all.length / size);
  const link = (to: number, rel: string) => {
    const address = new URL(`http://${headers.host}${url.pathname}${url.search}`);
    address.pathname = address.pathname.replace(/\/repos\/[^/]+\/[^/]+/, `/repositories/${REPO_ID}`);
    address.searchParams.set('page', String(to));
    return `<${address.href}>; rel="${rel}"`;
  };
  const links = [
    ...(page > 1 ? [link(page - 1, 'prev')] : []),
    ...(page < last ? [link(page + 1, 'next'), link(last, 'last')] : []),
    ...(page > 1 ? [link(1, 'first')] : []),
  ];
  const body = all.slice((page - 1) * size, page * size);
  return { body, ...(links.length === 0 ? {} : { headers: { link: links.join(', ') } }) };
}

function withHeaders(answer: FakeAnswer, { method, headers }: FakeRequest, { quota }: GithubWorld): FakeAnswer {
  if (answer === 'hang') return answer;
  const etag = `W/"${createHash('sha256')
    .update(JSON.stringify(answer.body ?? null))
    .digest('hex')}"`;
  const isSame = method === 'GET' && (answer.status ?? 200) === 200 && headers['if-none-match'] === etag;
  if (!isSame) quota.remaining--;
  const limits = {
    'x-ratelimit-limit': '5000',
    'x-ratelimit-remaining': String(quota.remaining),
    'x-ratelimit-reset': String(quota.resetAtSeconds),
    'x-ratelimit-used': String(5_000 - quota.remaining),
    'x-ratelimit-resource': 'core',
  };
  // A 304 repeats no Link, and is not counted.
  if (isSame) return { status: 304, headers: { etag, ...limits } };
  return { ...answer, headers: { ...(method === 'GET' ? { etag } : {}), ...limits, ...answer.headers } };
}

function notFound(): FakeAnswer {
  return refusal(404, 'Not Found');
}

function refusal(status: number, message: string): FakeAnswer {
  return { status, body: { message, documentation_url: 'https://docs.github.com/rest', status: String(status) } };
}

type FakeActor = string | null;

/** What happened to an issue; times as GitHub writes them. */
interface FakeHistory {
  /** The oldest first. */
  readonly edited?: readonly { readonly at: string; readonly by: FakeActor }[];
  readonly renamed?: readonly { readonly at: string; readonly by: FakeActor }[];
  readonly labelled?: readonly { readonly at: string; readonly label: string }[];
  /** How current the answering server is; absent: up to date. */
  readonly updatedAt?: string;
}

/** Answers the two queries of the adapter in GitHub's shape. Another test checks the queries against the published schema. */
function answerGraphql({ body }: FakeRequest, world: GithubWorld, board: FakeTracker['board']): FakeAnswer {
  const { query, variables } = body;
  const tell = { [HISTORY_QUERY]: issueNode, [EDITORS_QUERY]: commentNode }[query as string];
  if (tell === undefined) return { body: { errors: [{ message: 'the fake does not know this query' }] } };
  const ids = variables.ids as string[];
  if (ids.length > 100) return { body: { errors: [{ type: 'ARGUMENT_LIMIT', message: 'at most 100 ids' }] } };
  const nodes = ids.map((id) => tell(id, world, board));
  const errors = nodes.flatMap((node, n) => {
    if (node !== null) return [];
    const message = `Could not resolve to a node with the global id of '${ids[n]}'`;
    return [{ type: 'NOT_FOUND', path: ['nodes', n], message }];
  });
  return {
    body: { data: { nodes }, ...(errors.length === 0 ? {} : { errors }) },
    headers: { 'x-ratelimit-resource': 'graphql' },
  };
}

function commentNode(nodeId: string, { commentEditors }: GithubWorld, board: FakeTracker['board']) {
  const [, id = '', n = ''] = /^IC_kwDOA(\d+)_(\d+)$/.exec(nodeId) ?? [];
  const comment = board.get(id)?.comments[Number(n)];
  if (comment === undefined) return null;
  const editor = commentEditors.get(comment.body);
  return {
    ...{ __typename: 'IssueComment', body: comment.body },
    ...{ lastEditedAt: editor === undefined ? null : comment.createdAt, editor: actorOf(editor ?? null) },
  };
}

function issueNode(nodeId: string, { histories }: GithubWorld, board: FakeTracker['board']) {
  const id = nodeId.replace('I_kwDOA', '');
  const issue = board.get(id);
  if (issue === undefined) return null;
  const { edited = [], renamed = [], labelled = [], updatedAt } = histories.get(id) ?? {};
  const items = [
    ...labelled.map(({ at, label }) => ({ __typename: 'LabeledEvent', createdAt: at, label: { name: label } })),
    ...renamed.map(({ at, by }) => ({ __typename: 'RenamedTitleEvent', createdAt: at, actor: actorOf(by) })),
  ].sort((one, other) => Date.parse(one.createdAt) - Date.parse(other.createdAt));
  const last = edited.at(-1);
  // With the first edit GitHub lists the first version, too.
  const created = { at: issue.createdAt, by: issue.author };
  const edits = (last === undefined ? [] : [created, ...edited]).map(({ at, by }) => ({
    editedAt: at,
    editor: actorOf(by),
  }));
  return {
    ...{ __typename: 'Issue', updatedAt: updatedAt ?? issue.updatedAt },
    ...{ lastEditedAt: last?.at ?? null, editor: actorOf(last?.by ?? null), includesCreatedEdit: last !== undefined },
    // The newest first, unlike the timeline.
    userContentEdits: { totalCount: edits.length, nodes: edits.reverse().slice(0, 100) },
    timelineItems: { pageInfo: { hasPreviousPage: items.length > 100 }, nodes: items.slice(-100) },
  };
}

/** GraphQL leaves the `[bot]` out. */
function actorOf(login: FakeActor) {
  if (login === null) return null;
  const isBot = login.endsWith('[bot]');
  return { __typename: isBot ? 'Bot' : 'User', login: isBot ? login.slice(0, -'[bot]'.length) : login };
}

const WEB = 'https://api.github.com';

/** An issue in the shape of the REST API. */
function issueShape(issue: FakeIssue, world: GithubWorld, board: FakeTracker['board']) {
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

function commentShape(comment: FakeIssue['comments'][number], n: number, id = '') {
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

function repositoryShape(world: GithubWorld, id: number) {
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
