import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/domain/json.js';
import { type FakeGitlab, startFakeGitlab } from '../../support/trackers/fake-gitlab.js';
import type { FakeAnswer } from '../../support/trackers/fake-server.js';
import { type FakeIssue, openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;

async function mapped(fields: Partial<FakeIssue>, provider: JsonObject = {}) {
  const fake = await startFakeGitlab();
  const { id } = fake.add(fields);
  const [issue] = (await openFake(fake, { provider }).issuesByIds([id], NEVER)).issues;
  if (!issue) throw new Error('it is there');
  return issue;
}

test('every field of an issue is mapped', async () => {
  const issue = await mapped({
    title: 'Fix the build',
    description: '  It is red.',
    labels: ['Baton', 'bug'],
    author: 'ann',
    assignee: 'bob',
    priority: 2,
  });

  expect(issue).toEqual({
    id: '1',
    identifier: 'GL-1',
    title: 'Fix the build',
    description: '  It is red.',
    priority: 2,
    state: 'opened',
    branch_name: null,
    url: 'https://gitlab.example.org/acme/tools/widgets/-/issues/1',
    assignee_id: 'bob',
    author: { login: 'ann', trusted: true },
    labels: ['baton', 'bug', 'priority::2'],
    blocked_by: [],
    comments: [],
    dispatchable: true,
    held_back: null,
    native_ref: { reference: 'acme/tools/widgets#1' },
    created_at: '2026-01-01T00:01:00.000Z',
    updated_at: '2026-01-01T00:01:00.000Z',
  });
});

test.each([
  [['p1'], 1],
  [['P4'], 4],
  [['priority::3'], 3],
  [['priority::p2'], 2],
  [['Priority::High'], 2],
  [['priority/urgent'], 1],
  [['priority: low', 'priority::medium'], 3],
  [['p0', 'p5', 'high', 'priority', 'prio::1', 'priority::constructor'], null],
])('the labels %j are the priority %s', async (labels, priority) => {
  expect((await mapped({ labels })).priority).toBe(priority);
});

test('an invalid optional field is absent', async () => {
  const fake = await startFakeGitlab();
  const odd = { description: 7, labels: 'x', assignees: {}, author: [], created_at: 'soon', web_url: 'javascript:1' };
  fake.server.fault = ({ url }) =>
    url.pathname.endsWith('/issues') ? { body: [{ iid: 1, title: 'T', state: 'opened', ...odd }] } : null;

  const { issues } = await openFake(fake).issuesByIds(['1'], NEVER);

  expect(issues[0]).toMatchObject({ description: null, labels: [], assignee_id: null, created_at: null, url: null });
  expect(issues[0]?.author?.trusted).toBe(false);
});

test.each([
  ['task', true],
  ['incident', true],
  ['test_case', false],
  ['requirement', false],
])('a %s is an issue to work on: %s', async (type, isWork) => {
  const fake = await startFakeGitlab();
  const { id } = fake.add();
  fake.world.types.set(id, type);
  const tracker = openFake(fake);

  const list = await tracker.issuesByStates(['opened'], NEVER);
  const byId = await tracker.issuesByIds([id], NEVER);

  expect([list.issues.length, byId.issues.length]).toEqual(isWork ? [1, 1] : [0, 0]);
  expect([list.problems, byId.unknown]).toEqual([[], []]);
});

describe('assignee', () => {
  test('"me" needs a token that may read its owner', async () => {
    const fake = await startFakeGitlab();
    fake.world.user = null;

    const read = openFake(fake, { provider: { assignee: 'me' } }).issuesByIds(['1'], NEVER);

    await expect(read).rejects.toMatchObject({
      code: 'invalid_tracker_config',
      message: expect.stringContaining('tracker.provider.assignee'),
    });
  });
});

const RECORD = (iid: number) => ({ iid, title: `Title ${iid}`, state: 'opened' });

async function withPages(answer: (page: number) => { body: unknown; next?: string }) {
  const fake = await startFakeGitlab();
  let pages = 0;
  fake.server.fault = ({ url }) => {
    if (!url.pathname.endsWith('/issues')) return null;
    const { body, next } = answer(++pages);
    return { body, ...(next === undefined ? {} : { headers: { 'x-next-page': next } }) };
  };
  return { fake, read: () => openFake(fake).issuesByStates(['opened'], NEVER), pages: () => pages };
}

test('pages are read a hundred at a time, oldest first', async () => {
  const fake = await startFakeGitlab();
  for (let n = 0; n < 201; n++) fake.add();

  const { issues } = await openFake(fake).issuesByStates(['opened'], NEVER);

  const asked = fake.server.requests.filter(({ url }) => url.pathname.endsWith('/issues')).map(({ url }) => url);
  expect(issues.map(({ id }) => Number(id))).toEqual(Array.from({ length: 201 }, (_, n) => n + 1));
  expect(asked.map(({ searchParams }) => searchParams.get('page'))).toEqual(['1', '2', '3']);
  expect(Object.fromEntries(asked[0]?.searchParams ?? [])).toMatchObject({
    ...{ per_page: '100', state: 'opened', scope: 'all', order_by: 'created_at', sort: 'asc' },
  });
});

test('issues are read by number, fifty at a time, in every state and of every author', async () => {
  const fake = await startFakeGitlab();
  const ids = Array.from({ length: 120 }, () => fake.add().id);

  await openFake(fake).issuesByIds(ids, NEVER);

  const asked = fake.server.requests.filter(({ url }) => url.pathname.endsWith('/issues')).map(({ url }) => url);
  expect(asked.map(({ searchParams }) => searchParams.getAll('iids[]').length)).toEqual([50, 50, 20]);
  expect(asked[0]?.searchParams.get('state')).toBe('all');
  expect(asked[0]?.searchParams.get('scope')).toBe('all');
});

test('a full page is followed by another request, even without a header', async () => {
  const { read, pages } = await withPages((page) => ({
    body: page === 1 ? Array.from({ length: 100 }, (_, n) => RECORD(n + 1)) : [RECORD(101)],
  }));

  expect((await read()).issues).toHaveLength(101);
  expect(pages()).toBe(2);
});

describe('pages that do not fit together', () => {
  test.each(['1', '3', '0', '-1', 'nonsense', 'https://evil.example/'])('the next is %j', async (next) => {
    const { read, pages } = await withPages((page) => ({ body: [RECORD(page)], next }));

    await expect(read()).rejects.toMatchObject({ code: 'tracker_pagination' });
    expect(pages()).toBeLessThanOrEqual(2);
  });

  test('a page repeats known issues and links a next page', async () => {
    const { read } = await withPages((page) => ({ body: [RECORD(1)], next: String(page + 1) }));

    await expect(read()).rejects.toMatchObject({ code: 'tracker_pagination' });
  });

  test('a page in the middle is no list', async () => {
    const { read } = await withPages((page) =>
      page === 1 ? { body: [RECORD(1)], next: '2' } : { body: { message: 'hm' } },
    );

    await expect(read()).rejects.toMatchObject({ code: 'tracker_response' });
  });
});

test('of an issue on two pages the later version counts', async () => {
  const { read } = await withPages((page) =>
    page === 1
      ? { body: [RECORD(1), RECORD(2), RECORD(3)], next: '2' }
      : { body: [{ ...RECORD(2), title: 'Newer' }, { ...RECORD(3), state: 'closed' }, RECORD(4)], next: '' },
  );

  const { issues } = await read();

  expect(issues.map(({ id, title }) => [id, title])).toEqual([
    ['1', 'Title 1'],
    ['2', 'Newer'],
    ['4', 'Title 4'],
  ]);
});

test('an answer about other issues is ignored', async () => {
  const fake = await startFakeGitlab();
  fake.server.fault = ({ url }) => (url.pathname.endsWith('/issues') ? { body: [RECORD(2)] } : null);

  const { issues, unknown } = await openFake(fake).issuesByIds(['1'], NEVER);

  expect([issues, unknown]).toEqual([[], []]);
});

test('a hundred problems are reported, the others are counted', async () => {
  const nameless = Array.from({ length: 65 }, () => ({ title: 'no number' }));
  const { read } = await withPages((page) => ({ body: nameless, next: page === 1 ? '2' : '' }));

  const { issues, problems } = await read();

  expect(issues).toEqual([]);
  expect(problems).toHaveLength(101);
  expect(problems?.at(-1)).toContain('30 more');
});

const LABELS = { state_labels: ['In progress', 'Review'] };

function questions({ server }: FakeGitlab) {
  return server.requests.filter(({ url }) => url.pathname === '/api/graphql');
}

async function blockersOf(fake: FakeGitlab, id: string) {
  const { issues } = await openFake(fake, { provider: LABELS }).issuesByIds([id], NEVER);
  return issues[0]?.blocked_by;
}

test('a blocker can be in a state of labels; a related or blocked issue is no blocker', async () => {
  const fake = await startFakeGitlab();
  const blocker = fake.add({ state: 'Review' });
  const { id } = fake.add({ blockedBy: [blocker.id] });

  expect(await blockersOf(fake, id)).toEqual([{ id: '1', identifier: 'GL-1', state: 'Review' }]);
});

test('one of another project has its full name, and its labels are no states', async () => {
  const fake = await startFakeGitlab();
  const { id } = fake.add();
  fake.world.foreignBlockers.set(id, [
    { reference: 'acme/core#1', state: 'OPEN' },
    { reference: 'acme/core#6', state: 'CLOSED' },
  ]);

  expect(await blockersOf(fake, id)).toEqual([
    { id: 'acme/core#1', identifier: 'acme/core#1', state: 'opened' },
    { id: 'acme/core#6', identifier: 'acme/core#6', state: 'closed' },
  ]);
});

test('a hidden blocker blocks, too', async () => {
  const fake = await startFakeGitlab();
  const closed = fake.add({ state: 'closed' });
  const { id } = fake.add({ blockedBy: [closed.id] });
  fake.world.hiddenBlockers.set(id, 1);

  expect(await blockersOf(fake, id)).toEqual([
    { id: '1', identifier: 'GL-1', state: 'closed' },
    { id: null, identifier: expect.stringContaining('may not see'), state: null },
  ]);
});

test('the blockers of 120 issues are three requests, only for issues that could start', async () => {
  const fake = await startFakeGitlab();
  for (let n = 0; n < 120; n++) fake.add({ labels: ['baton'] });
  for (let n = 0; n < 120; n++) fake.add();
  fake.add({ state: 'closed', labels: ['baton'] });

  await openFake(fake, { config: { requiredLabels: ['baton'] } }).issuesByStates(['opened', 'closed'], NEVER);

  const sizes = questions(fake).map(({ body }) => body.variables.iids.length);
  expect(sizes.sort()).toEqual([20, 50, 50]);
});

test('an edition without blockers is asked once, and is no problem', async () => {
  const fake = await startFakeGitlab();
  fake.world.missingField = 'blockedByCount';
  const blocker = fake.add();
  fake.add({ blockedBy: [blocker.id] });
  const tracker = openFake(fake);

  for (let n = 0; n < 3; n++) await tracker.issuesByStates(['opened'], NEVER);
  const { issues, problems } = await tracker.issuesByStates(['opened'], NEVER);

  expect(questions(fake)).toHaveLength(1);
  expect(issues.map(({ blocked_by }) => blocked_by)).toEqual([[], []]);
  expect(problems).toEqual([]);
});

test('an instance without another field is asked once, and is a problem', async () => {
  const fake = await startFakeGitlab();
  fake.world.missingField = 'workItems';
  fake.add();
  const tracker = openFake(fake);

  await tracker.issuesByStates(['opened'], NEVER);
  const { issues, problems } = await tracker.issuesByStates(['opened'], NEVER);

  expect([issues.length, questions(fake).length]).toEqual([1, 1]);
  expect(problems).toEqual([expect.stringMatching(/what blocks an issue.*"workItems"/)]);
});

test.each<[string, FakeAnswer, string]>([
  ['no project', { body: { data: { project: null } } }, 'tracker_response'],
  ['no list', { body: { data: { project: { workItems: {} } } } }, 'tracker_response'],
  ['an error in a 200', { body: { data: null, errors: [{ message: 'Timeout on validation' }] } }, 'tracker_response'],
  ['no permission', { status: 403, body: { message: 'no' } }, 'tracker_auth'],
  ['no quota', { status: 429, body: {} }, 'tracker_rate_limited'],
])('an answer with %s is an error, and not an issue without blockers', async (_what, answer, code) => {
  const fake = await startFakeGitlab();
  const { id } = fake.add();
  fake.server.fault = ({ url }) => (url.pathname === '/api/graphql' ? answer : null);

  await expect(blockersOf(fake, id)).rejects.toMatchObject({ code });
});
