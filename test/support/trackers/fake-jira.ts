import { jiraTracker } from '../../../src/tracker/jira/tracker.js';
import { changed } from './fake-jira-changes.js';
import {
  commentsOf,
  issueNamed,
  issueRecord,
  type JiraWorld,
  ME,
  MISSING,
  person,
  transitionsOf,
} from './fake-jira-records.js';
import { fetched, searched } from './fake-jira-search.js';
import { type FakeAnswer, type FakeRequest, fakeServer } from './fake-server.js';
import { addTo, type FakeIssue, type FakeTracker } from './fake-tracker.js';

export interface FakeJira extends FakeTracker, JiraWorld {
  readonly board: Map<string, FakeIssue>;
}

const TOKEN = 'ATATT3xFfGF0canary5f1c09e2';
const EMAIL = 'baton@example.org';

/** A server with the documented REST API (version 3) of Jira Cloud. It rejects unknown requests. */
export async function startFakeJira(): Promise<FakeJira> {
  const board = new Map<string, FakeIssue>();
  const state = {
    kind: 'jira',
    entry: jiraTracker,
    board,
    variable: 'JIRA_API_TOKEN',
    token: TOKEN,
    add: addTo(board, (n) => ({ id: String(10_000 + n), identifier: `ABC-${n}` }), 'To Do'),
    projects: [
      { id: '10000', key: 'ABC', name: 'Alphabet', projectTypeKey: 'software' },
      { id: '10001', key: 'OTHER', name: 'Other', projectTypeKey: 'software' },
    ],
    statuses: [
      { id: '10000', name: 'To Do' },
      { id: '3', name: 'In Progress' },
      { id: '10001', name: 'In Review' },
      { id: '10002', name: 'Done' },
    ],
    ...{ emails: new Map<string, string>(), fieldsOf: new Map<string, object>(), oldKeys: new Map<string, string>() },
    ...{ transitions: new Map<string, readonly string[]>(), demanding: new Set<string>(), failing: new Set<string>() },
    pageLimit: 100,
  };
  // The server needs its answer function before the board is complete.
  const fake: { jira: FakeJira | null } = { jira: null };
  const server = await fakeServer((request) => (fake.jira ? answered(request, fake.jira) : { status: 500 }));
  fake.jira = Object.assign(state, { server, provider: { endpoint: server.url, email: EMAIL, project: 'ABC' } });
  return fake.jira;
}

function answered(request: FakeRequest, jira: FakeJira): FakeAnswer {
  const path = request.url.pathname.replace(/^\/rest\/api\/3(?=\/)/, '');
  if (path === request.url.pathname) return { status: 404, raw: '' };
  const wanted = `Basic ${Buffer.from(`${EMAIL}:${jira.token}`).toString('base64')}`;
  if (request.headers.authorization !== wanted) return toStranger(path);
  if (request.method === 'POST' && path === '/search/jql') return searched(request.body, jira);
  if (request.method === 'POST' && path === '/issue/bulkfetch') return fetched(request.body, jira);
  return request.method === 'GET' ? read(path, request.url.searchParams, jira) : changed(request, path, jira);
}

/** With a bad token the request is anonymous, and most of Jira is empty. */
function toStranger(path: string): FakeAnswer {
  const headers = { 'x-seraph-loginreason': 'AUTHENTICATED_FAILED' };
  if (path === '/myself') return { status: 401, headers, raw: 'Client must be authenticated to access this resource.' };
  return path === '/search/jql' ? { headers, body: { issues: [], isLast: true } } : { ...MISSING, headers };
}

function read(path: string, query: URLSearchParams, jira: FakeJira): FakeAnswer {
  const [, first, second = '', third, fourth] = path.split('/').map(decodeURIComponent);
  if (path === '/myself') return { body: { ...person(ME, true, jira), emailAddress: EMAIL } };
  if (path === '/status') return { body: jira.statuses };
  if (path === '/priority' || path === '/field' || path === '/issuetype') return { body: [{ id: '1', name: 'One' }] };
  if (first === 'project') {
    const project = jira.projects.find(({ id, key }) => id === second || key === second.toUpperCase());
    if (!project) return { status: 404, body: { errorMessages: [`No project could be found with key '${second}'.`] } };
    const types = [{ id: '10003', name: 'Task', subtask: false, statuses: jira.statuses }];
    return { body: third === 'statuses' ? types : third === undefined ? project : [] };
  }
  const issue = first === 'issue' ? issueNamed(second, jira) : undefined;
  if (!issue) return MISSING;
  if (third === undefined) return { body: issueRecord(issue, jira, query.get('fields')?.split(',') ?? null) };
  if (third === 'transitions') return { body: { expand: 'transitions', transitions: transitionsOf(issue, jira) } };
  if (third !== 'comment') return { body: { self: path } };
  const all = commentsOf(issue, jira);
  if (fourth !== undefined) {
    // It is not documented whether Jira also checks the issue; this fake does not.
    const everywhere = [...jira.board.values()].flatMap((each) => commentsOf(each, jira));
    return { body: everywhere.find(({ id }) => id === fourth) };
  }
  const ordered = query.get('orderBy') === '-created' ? all.reverse() : all;
  const startAt = Number(query.get('startAt') ?? 0);
  const maxResults = Math.min(Number(query.get('maxResults') ?? 100), jira.pageLimit);
  return { body: { startAt, maxResults, total: all.length, comments: ordered.slice(startAt, startAt + maxResults) } };
}
