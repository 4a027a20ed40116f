import { createHash } from 'node:crypto';
import { redmineTracker } from '../../../src/tracker/redmine/tracker.js';
import { changed } from './fake-redmine-changes.js';
import {
  allowedStatuses,
  isClosed,
  issueRecord,
  journalsOf,
  NOTHING,
  person,
  projectFor,
  type RedmineProject,
  type RedmineWorld,
  relationsOf,
  STATUSES,
} from './fake-redmine-records.js';
import { type FakeAnswer, type FakeRequest, fakeServer } from './fake-server.js';
import { addTo, type FakeIssue, type FakeTracker } from './fake-tracker.js';

/** The data of Redmine besides the board. Tests change it. */
export interface FakeRedmine extends FakeTracker, RedmineWorld {
  readonly board: Map<string, FakeIssue>;
  readonly projectOf: Map<string, number>;
  readonly projects: RedmineProject[];
  isRestOff: boolean;
  isAdmin: boolean;
  /** The account may comment. */
  canAddNotes: boolean;
  /** The logins of other users are visible, as from Redmine 5.0 on. */
  tellsLogins: boolean;
  /** Ids of issues that anonymous users cannot see, even in a public project. */
  readonly hidden: Set<string>;
  readonly forbidden: Set<string>;
  readonly privateNotes: Set<string>;
  /** Members through a group. */
  readonly crew: Set<string>;
  isNewestFirst: boolean;
  /** Lists include the issues of subprojects unless the query excludes them. */
  listsSubprojects: boolean;
  /** Modules of every project. */
  readonly categories: Set<string>;
  /** The largest page that Redmine returns. */
  pageLimit: number;
}

const TOKEN = 'b7d1f0a94c3e5286b7d1f0a94c3e5286b7d1f0a9';
const ME = 'baton';

/** A server with the API of Redmine 5.0, compared with a real one by test/real/redmine-adapter.test.ts. It rejects unknown requests. */
export async function startFakeRedmine(): Promise<FakeRedmine> {
  const board = new Map<string, FakeIssue>();
  const ids = new Map<string, number>([[ME, 5]]);
  const state = {
    kind: 'redmine',
    entry: redmineTracker,
    board,
    variable: 'REDMINE_API_KEY',
    token: TOKEN,
    add: addTo(board, (n) => ({ id: String(n), identifier: `RM-${n}` }), 'New'),
    projectOf: new Map<string, number>(),
    projects: [
      { id: 1, identifier: 'demo', parent: null, isPublic: true, status: 1 },
      { id: 2, identifier: 'demo-sub', parent: 1, isPublic: true, status: 1 },
      { id: 3, identifier: 'other', parent: null, isPublic: true, status: 1 },
      { id: 4, identifier: 'secret', parent: null, isPublic: false, status: 1 },
    ],
    ...{ isRestOff: false, isAdmin: false, canAddNotes: true, tellsLogins: true, isNewestFirst: false, pageLimit: 100 },
    listsSubprojects: true,
    ...{ hidden: new Set<string>(), forbidden: new Set<string>(), privateNotes: new Set<string>() },
    crew: new Set<string>(),
    categories: new Set<string>(),
    idOf(login: string) {
      if (!ids.has(login)) ids.set(login, ids.size + 5);
      return ids.get(login) ?? 0;
    },
  };
  // The server needs its answer function before the board is complete.
  const fake: { redmine: FakeRedmine | null } = { redmine: null };
  const server = await fakeServer((request) => (fake.redmine ? answered(request, fake.redmine) : { status: 500 }));
  fake.redmine = Object.assign(state, { server, provider: { endpoint: server.url, project: 'demo' } });
  return fake.redmine;
}

function answered(request: FakeRequest, redmine: FakeRedmine): FakeAnswer {
  const isKnown = request.headers['x-redmine-api-key'] === redmine.token && !redmine.isRestOff;
  const stranger: FakeAnswer = redmine.isRestOff
    ? { status: 403, ...NOTHING }
    : { status: 401, headers: { 'www-authenticate': 'Basic realm="Redmine API"' }, ...NOTHING };
  if (request.method !== 'GET') return isKnown ? changed(request, redmine) : stranger;
  const told = read(request, redmine, isKnown);
  if (told === 'stranger') return isKnown ? { status: 403, ...NOTHING } : stranger;
  if (told === 'missing') return { status: 404, ...NOTHING };
  if ('errors' in told) return { status: 422, body: told };
  const etag = `W/"${createHash('md5').update(JSON.stringify(told)).digest('hex')}"`;
  const isSame = request.headers['if-none-match'] === etag;
  return isSame ? { status: 304, headers: { etag }, ...NOTHING } : { headers: { etag }, body: told };
}

type Told = object | 'stranger' | 'missing';

function read({ url }: FakeRequest, redmine: FakeRedmine, isKnown: boolean): Told {
  const path = url.pathname.replace(/\.json$/, '');
  const [, first, second = '', third] = path.split('/');
  if (!url.pathname.endsWith('.json')) return 'missing';
  if (path === '/users/current') {
    const user = { id: redmine.idOf(ME), login: ME, admin: redmine.isAdmin, firstname: 'Baton', lastname: 'Test' };
    return isKnown ? { user: { ...user, api_key: redmine.token } } : 'stranger';
  }
  if (path === '/issue_statuses') return { issue_statuses: STATUSES };
  if (path === '/trackers') return { trackers: [{ id: 1, name: 'Bug', default_status: { id: 1, name: 'New' } }] };
  if (path === '/issues') return list(url.searchParams, redmine, isKnown);
  if (first === 'users' && third === undefined) return userNumbered(Number(second), redmine);
  if (first === 'relations') return relationNumbered(Number(second), redmine);
  if (first === 'projects') return projectPart(second, third ?? null, url.searchParams, redmine);
  const issue = first === 'issues' ? redmine.board.get(second) : undefined;
  if (!issue) return 'missing';
  if (!isVisible(issue, redmine, isKnown)) return 'stranger';
  if (third === 'relations') return { relations: relationsOf(second, redmine) };
  return third === undefined ? whole(issue, url.searchParams, redmine) : 'missing';
}

const QUERIES = ['project_id', 'subproject_id', 'status_id', 'issue_id', 'sort', 'include', 'limit', 'offset'];

function list(query: URLSearchParams, redmine: FakeRedmine, isKnown: boolean): Told {
  const strange = [...query.keys()].filter((name) => !QUERIES.includes(name));
  if (strange.length > 0) return { errors: [`the fake does not know ${strange.join(', ')}`] };
  const wanted = query.get('project_id');
  const project = redmine.projects.find(({ id, identifier }) => identifier === wanted || String(id) === wanted);
  if (wanted !== null && !project) return 'missing';
  if (project?.isPublic === false) return 'stranger';
  const numbers = query.get('issue_id')?.split(',');
  if (numbers?.some((number) => !/^\d+$/.test(number))) return { errors: ['Issue is invalid'] };
  const found = [...redmine.board.values()].filter((issue) => {
    const at = projectFor(issue.id, redmine);
    const below = query.get('subproject_id') ?? (redmine.listsSubprojects ? '*' : '!*');
    const isInside = !project || at === project || (at?.parent === project.id && below === '*');
    const isAsked = !numbers || numbers.includes(issue.id);
    return (
      isInside && isAsked && isInStatus(issue, query.get('status_id') ?? 'open') && isVisible(issue, redmine, isKnown)
    );
  });
  const isOldestFirst = query.get('sort') === 'created_on:asc,id';
  const ordered = isOldestFirst ? found : found.reverse();
  const withRelations = query.get('include')?.split(',').includes('relations') === true;
  const { page, ...meta } = paged(ordered, query, redmine);
  const issues = page.map((issue) => ({
    ...issueRecord(issue, redmine),
    ...(withRelations ? { relations: relationsOf(issue.id, redmine) } : {}),
  }));
  return { issues, ...meta };
}

function isInStatus({ state }: FakeIssue, wanted: string): boolean {
  if (wanted === '*') return true;
  if (wanted === 'open' || wanted === 'closed') return isClosed(state) === (wanted === 'closed');
  return wanted.split('|').some((id) => STATUSES.some((status) => String(status.id) === id && status.name === state));
}

function isVisible(issue: FakeIssue, redmine: FakeRedmine, isKnown: boolean): boolean {
  const project = projectFor(issue.id, redmine);
  return project?.isPublic === true && (isKnown || !redmine.hidden.has(issue.id));
}

function whole(issue: FakeIssue, query: URLSearchParams, redmine: FakeRedmine): Told {
  const parts = query.get('include')?.split(',') ?? [];
  const relations = relationsOf(issue.id, redmine);
  const journals = journalsOf(issue, redmine, redmine.privateNotes);
  return {
    issue: {
      ...issueRecord(issue, redmine),
      // A single issue without relations has no list of them, not an empty one.
      ...(parts.includes('relations') && relations.length > 0 ? { relations } : {}),
      ...(parts.includes('journals') ? { journals: redmine.isNewestFirst ? journals.reverse() : journals } : {}),
      ...(parts.includes('allowed_statuses')
        ? { allowed_statuses: allowedStatuses(issue, redmine, redmine.forbidden) }
        : {}),
    },
  };
}

function projectPart(name: string, part: string | null, query: URLSearchParams, redmine: FakeRedmine): Told {
  const project = redmine.projects.find(({ id, identifier }) => identifier === name || String(id) === name);
  if (!project) return 'missing';
  if (!project.isPublic) return 'stranger';
  const { id, identifier, status } = project;
  if (part === null) return { project: { id, name: `Project ${identifier}`, identifier, status, is_public: true } };
  if (part === 'versions') return { versions: [], total_count: 0 };
  if (part === 'issue_categories') {
    const categories = [...redmine.categories].map((label, n) => ({ id: n + 1, name: label }));
    return { issue_categories: categories, total_count: categories.length };
  }
  if (part !== 'memberships') return 'missing';
  const written = [...redmine.board.values()].flatMap((issue) => [issue, ...issue.comments]);
  const members = new Set([ME, ...written.flatMap(({ author, isMember }) => (isMember ? [author] : []))]);
  const users = [...members, ...redmine.crew].map((login) => ({ user: person(login, redmine) }));
  const entries = [...users, { group: { id: 900, name: 'crew' } }].map((entry, n) => ({ id: n + 1, ...entry }));
  const { page, ...meta } = paged(entries, query, redmine);
  return { memberships: page, ...meta };
}

function userNumbered(id: number, redmine: FakeRedmine): Told {
  const logins = [...redmine.board.values()].flatMap(({ author, assignee, comments }) => [
    ...[author, ...(assignee === null ? [] : [assignee])],
    ...comments.map((comment) => comment.author),
  ]);
  const login = logins.find((each) => redmine.idOf(each) === id);
  if (login === undefined) return 'missing';
  return { user: { id, ...(redmine.tellsLogins ? { login } : {}), firstname: login, lastname: 'Test' } };
}

function relationNumbered(id: number, redmine: FakeRedmine): Told {
  const all = [...redmine.board.keys()].flatMap((issue) => relationsOf(issue, redmine));
  const relation = all.find((each) => each.id === id);
  return relation ? { relation } : 'missing';
}

/** The page size: 25 by default, at most 100. */
function paged<Item>(items: readonly Item[], query: URLSearchParams, { pageLimit }: FakeRedmine) {
  const asked = Number(query.get('limit') ?? 0);
  const limit = asked < 1 ? 25 : Math.min(asked, pageLimit);
  const offset = Math.max(0, Number(query.get('offset') ?? 0));
  return { page: items.slice(offset, offset + limit), total_count: items.length, offset, limit };
}
