import { createHash } from 'node:crypto';
import { gitlabTracker } from '../../../src/tracker/gitlab/tracker.js';
import { answerBlockers } from './fake-gitlab-blockers.js';
import { changeIssue, createNote } from './fake-gitlab-changes.js';
import { issueShape, labelEventShape, memberShapes, noteShapes, projectShape } from './fake-gitlab-shapes.js';
import { type FakeAnswer, type FakeRequest, fakeServer } from './fake-server.js';
import { addTo, type FakeTracker } from './fake-tracker.js';

export interface FakeLabelEvent {
  readonly at: string;
  readonly label: string;
  /** Ann, unless told otherwise. */
  readonly by?: string;
  readonly action?: string;
}

/** What GitLab knows besides the board; tests change it by hand. */
export interface GitlabWorld {
  readonly project: string;
  /** The path that the project has now, where it was renamed. */
  renamedTo: string | null;
  hasIssues: boolean;
  isArchived: boolean;
  /** What the token may do there; `null`: GitLab does not say. */
  level: number | null;
  /** `null`: the token may not ask who it is. */
  user: string | null;
  /** Labels that stand for states: an opened issue of the board is in that state while it carries one. */
  readonly stateLabels: string[];
  /** Every label that exists. */
  readonly labels: string[];
  /** By id: what an issue is, where it is no issue in the narrow sense. */
  readonly types: Map<string, string>;
  /** Ids that the token may not see. */
  readonly hidden: Set<string>;
  readonly locked: Set<string>;
  readonly assignees: Map<string, readonly string[]>;
  /** By login, besides those of the board. */
  readonly members: Map<string, { readonly level: number; readonly state?: string; readonly membership?: string }>;
  /** What GitLab wrote about an issue by itself, by id. */
  readonly activity: Map<string, { readonly at: string; readonly by: string; readonly body: string }[]>;
  readonly labelEvents: Map<string, FakeLabelEvent[]>;
  /** The first field of a query that this edition does not have. */
  missingField: string | null;
  /** Blockers in other projects, by id of the blocked. */
  readonly foreignBlockers: Map<string, { readonly reference: string; readonly state: string }[]>;
  /** How many open blockers the token may not see, by id of the blocked. */
  readonly hiddenBlockers: Map<string, number>;
  /** A change of labels or state is left out without a word. */
  isChangeIgnored: boolean;
  readonly quota: { remaining: number; readonly resetAtSeconds: number };
}

export interface FakeGitlab extends FakeTracker {
  readonly world: GitlabWorld;
}

const TOKEN = 'glpat-canary0000fake0000token';
const PROJECT = 'acme/tools/widgets';
export const PROJECT_ID = 4_711;

/** Speaks like GitLab's REST API, below `root` where the instance is not at the top of its host. What it does not know it refuses. */
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

export interface GitlabScene {
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

/** The last page names no next one: its header is there, and empty. */
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
  // Unlike GitHub's, an answer that need not be sent again is counted.
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

export function refusal(status: number, message: unknown): FakeAnswer {
  return { status, body: { message } };
}
