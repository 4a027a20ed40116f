import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/domain/json.js';
import { REPO_ID, startFakeGithub } from '../../support/trackers/fake-github.js';
import { type FakeIssue, openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;

async function mapped(fields: Partial<FakeIssue>, provider: JsonObject = {}) {
  const fake = await startFakeGithub();
  const { id } = fake.add(fields);
  const tracker = openFake(fake, { provider });
  const [issue] = (await tracker.issuesByIds([id], NEVER)).issues;
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
    identifier: 'GH-1',
    title: 'Fix the build',
    description: '  It is red.',
    priority: 2,
    state: 'open',
    branch_name: null,
    url: 'https://github.com/octo-org/widgets/issues/1',
    assignee_id: 'bob',
    author: { login: 'ann', trusted: true },
    labels: ['baton', 'bug', 'p2'],
    blocked_by: [],
    comments: [],
    dispatchable: true,
    held_back: null,
    native_ref: { node_id: 'I_kwDOA1' },
    created_at: '2026-01-01T00:01:00.000Z',
    updated_at: '2026-01-01T00:01:00.000Z',
  });
});

test('an issue without description and author is valid', async () => {
  const issue = await mapped({ description: null, author: 'ghost', isMember: false });

  expect(issue).toMatchObject({
    description: null,
    author: { login: expect.stringContaining('gone'), trusted: false },
  });
});

test.each([
  [['p1'], 1],
  [['P4'], 4],
  [['priority: p2'], 2],
  [['priority/p3'], 3],
  [['Priority: High'], 2],
  [['priority-urgent'], 1],
  [['priority: low', 'priority: medium'], 3],
  [['p0', 'p5', 'high', 'priority', 'prio: 1', 'top1'], null],
])('the labels %j are the priority %s', async (labels, priority) => {
  expect((await mapped({ labels })).priority).toBe(priority);
});

test('a pull request is no issue: in lists, by its number, and for changes', async () => {
  const fake = await startFakeGithub();
  const issue = fake.add();
  const pull = fake.add();
  fake.world.pulls.add(pull.id);
  const tracker = openFake(fake);

  const list = await tracker.issuesByStates(['open'], NEVER);
  const byId = await tracker.issuesByIds([pull.id], NEVER);

  expect(list.issues.map(({ id }) => id)).toEqual([issue.id]);
  expect(list.problems).toEqual([]);
  expect([byId.issues, byId.unknown]).toEqual([[], []]);
  await expect(tracker.update(pull.id, { comment: 'x' }, NEVER)).rejects.toMatchObject({
    code: 'tracker_refused',
  });
  expect(pull.comments).toEqual([]);
});

describe('assignee', () => {
  test('"me" needs a token with an owner', async () => {
    const fake = await startFakeGithub();
    fake.world.user = null;

    const read = openFake(fake, { provider: { assignee: 'me' } }).issuesByIds(['1'], NEVER);

    await expect(read).rejects.toMatchObject({
      code: 'invalid_tracker_config',
      message: expect.stringContaining('tracker.provider.assignee'),
    });
  });
});

describe('blockers', () => {
  test('one of another repository has its full name, and its labels are no states', async () => {
    const fake = await startFakeGithub();
    const { id } = fake.add();
    fake.world.foreignBlockers.set(id, [
      { repo: 'octo-org/core', number: 5, state: 'open' },
      { repo: 'octo-org/core', number: 6, state: 'closed' },
    ]);

    const { issues } = await openFake(fake, { provider: { state_labels: ['Review'] } }).issuesByIds([id], NEVER);

    expect(issues[0]?.blocked_by).toEqual([
      { id: 'octo-org/core#5', identifier: 'octo-org/core#5', state: 'open' },
      { id: 'octo-org/core#6', identifier: 'octo-org/core#6', state: 'closed' },
    ]);
  });

  test('one with a state label is in that state', async () => {
    const fake = await startFakeGithub();
    const blocker = fake.add({ state: 'Review' });
    const { id } = fake.add({ blockedBy: [blocker.id] });

    const { issues } = await openFake(fake, { provider: { state_labels: ['Review'] } }).issuesByStates(['open'], NEVER);

    expect(issues.find((issue) => issue.id === id)?.blocked_by).toEqual([
      { id: '1', identifier: 'GH-1', state: 'Review' },
    ]);
  });

  test('more than one page is read', async () => {
    const fake = await startFakeGithub();
    const blockers = Array.from({ length: 120 }, () => fake.add({ state: 'closed' }).id);
    const { id } = fake.add({ blockedBy: blockers });

    const { issues } = await openFake(fake).issuesByIds([id], NEVER);

    expect(issues[0]?.blocked_by).toHaveLength(120);
  });

  test('an issue without blockers costs no request', async () => {
    const fake = await startFakeGithub();
    const { id } = fake.add();

    await openFake(fake).issuesByIds([id], NEVER);

    expect(fake.server.requests).toHaveLength(1);
  });

  test('a server without dependencies has none', async () => {
    const fake = await startFakeGithub();
    const blocker = fake.add();
    const { id } = fake.add({ blockedBy: [blocker.id] });
    fake.world.hasDependencies = false;

    const { issues } = await openFake(fake).issuesByIds([id], NEVER);

    expect(issues[0]?.blocked_by).toEqual([]);
  });

  test.each([
    [{ body: [] }, 'an issue that the token may not see'],
    [{ status: 404, body: {} }, 'an issue that the token may not see'],
  ])('one that GitHub counts but hides counts as open: %j', async (answer, identifier) => {
    const fake = await startFakeGithub();
    const { id } = fake.add({ blockedBy: [fake.add().id, fake.add({ state: 'closed' }).id] });
    fake.server.fault = ({ url }) => (url.pathname.endsWith('/blocked_by') ? answer : null);

    const { issues } = await openFake(fake).issuesByIds([id], NEVER);

    expect(issues[0]?.blocked_by).toEqual([{ id: null, identifier, state: null }]);
  });

  test.each([{ body: {} }, { body: [{ title: 'no number' }] }, { body: [7] }])(
    'an answer of the wrong shape is no missing blocker: %j',
    async (answer) => {
      const fake = await startFakeGithub();
      const blocker = fake.add();
      const { id } = fake.add({ blockedBy: [blocker.id] });
      fake.server.fault = ({ url }) => (url.pathname.endsWith('/blocked_by') ? answer : null);

      await expect(openFake(fake).issuesByIds([id], NEVER)).rejects.toMatchObject({ code: 'tracker_response' });
    },
  );
});

test('an answer about another issue is an error', async () => {
  const fake = await startFakeGithub();
  fake.add();
  fake.server.fault = () => ({ body: { number: 2, title: 'Another', state: 'open' } });

  await expect(openFake(fake).issuesByIds(['1'], NEVER)).rejects.toMatchObject({ code: 'tracker_response' });
});

const RECORD = (number: number) => ({ number, title: `Title ${number}`, state: 'open' });

async function withPages(answer: (page: number, base: string) => { body: unknown; link?: string }) {
  const fake = await startFakeGithub();
  let pages = 0;
  fake.server.fault = ({ url }) => {
    if (!url.pathname.endsWith('/issues')) return null;
    const { body, link } = answer(++pages, `${fake.server.url}${url.pathname}`);
    return { body, ...(link === undefined ? {} : { headers: { link } }) };
  };
  return { fake, read: () => openFake(fake).issuesByStates(['open'], NEVER), pages: () => pages };
}

test('pages are read a hundred at a time, as GitHub links them', async () => {
  const fake = await startFakeGithub();
  for (let n = 0; n < 201; n++) fake.add();

  const { issues } = await openFake(fake).issuesByStates(['open'], NEVER);

  const asked = fake.server.requests.filter(({ url }) => url.pathname.endsWith('/issues')).map(({ url }) => url);
  expect(issues.map(({ id }) => Number(id))).toEqual(Array.from({ length: 201 }, (_, n) => n + 1));
  expect(asked.map(({ pathname }) => pathname)).toEqual([
    '/repos/octo-org/widgets/issues',
    ...Array(2).fill(`/repositories/${REPO_ID}/issues`),
  ]);
  expect(asked.map(({ searchParams }) => searchParams.get('per_page'))).toEqual(['100', '100', '100']);
});

test('the first issue of a new page is found even when the page before is unchanged', async () => {
  const fake = await startFakeGithub();
  for (let n = 0; n < 200; n++) fake.add();
  const tracker = openFake(fake);
  const count = async () => (await tracker.issuesByStates(['open'], NEVER)).issues.length;
  await count();

  fake.add();
  const counts = [await count(), await count()];
  const cost = (await tracker.issuesByStates(['open'], NEVER)).rateLimit?.cost;

  expect(counts).toEqual([201, 201]);
  expect(cost).toBe(0);
});

test('a page that disappears is no error', async () => {
  const fake = await startFakeGithub();
  for (let n = 0; n < 201; n++) fake.add();
  const tracker = openFake(fake);
  await tracker.issuesByStates(['open'], NEVER);

  fake.board.delete('201');

  expect((await tracker.issuesByStates(['open'], NEVER)).issues).toHaveLength(200);
});

describe('pages that do not fit together', () => {
  test.each([
    ['another host', () => '<https://evil.example/repositories/1/issues?page=2>; rel="next"'],
    ['another path', (base: string) => `<${base}/comments?page=2>; rel="next"`],
    ['another list', (base: string) => `<${base.replace('/issues', '/pulls')}?page=2>; rel="next"`],
    ['another repository', (base: string) => `<${base.replace('widgets', 'gadgets')}?page=2>; rel="next"`],
    ['no address', () => '<nonsense>; rel="next"'],
    ['a page that was read already', (base: string) => `<${base}?page=1>; rel="next"`],
  ])('the next is %s', async (_what, link) => {
    const { fake, read } = await withPages((page, base) => ({ body: [RECORD(page)], link: link(base) }));

    await expect(read()).rejects.toMatchObject({ code: 'tracker_pagination' });
    expect(fake.server.requests.length).toBeLessThanOrEqual(4);
  });

  test('a page repeats known issues and links a next page', async () => {
    const { read } = await withPages((page, base) => ({
      body: [RECORD(1)],
      link: `<${base}?page=${page + 1}>; rel="next"`,
    }));

    await expect(read()).rejects.toMatchObject({ code: 'tracker_pagination' });
  });

  test('a page repeats known pull requests and links a next page', async () => {
    const { read } = await withPages((page, base) => ({
      body: [{ ...RECORD(1), pull_request: {} }],
      link: `<${base}?page=${page + 1}>; rel="next"`,
    }));

    await expect(read()).rejects.toMatchObject({ code: 'tracker_pagination' });
  });

  test('the pages never end', async () => {
    const { read, pages } = await withPages((page, base) => ({
      body: [RECORD(page)],
      link: `<${base}?page=${page + 1}>; rel="next"`,
    }));

    await expect(read()).rejects.toMatchObject({ code: 'tracker_pagination' });
    expect(pages()).toBeLessThanOrEqual(1_000);
  });

  test('a page in the middle is no list', async () => {
    const { read } = await withPages((page, base) =>
      page === 1 ? { body: [RECORD(1)], link: `<${base}?page=2>; rel="next"` } : { body: { message: 'hm' } },
    );

    await expect(read()).rejects.toMatchObject({ code: 'tracker_response' });
  });
});

test('of an issue on two pages the later version counts', async () => {
  const { read } = await withPages((page, base) =>
    page === 1
      ? { body: [RECORD(1), RECORD(2)], link: `<${base}?page=1>; rel="prev", <${base}?after=x>; rel="next"` }
      : { body: [{ ...RECORD(2), title: 'Newer' }, RECORD(3)], link: `<${base}?page=1>; rel="first"` },
  );

  const { issues } = await read();

  expect(issues.map(({ id, title }) => [id, title])).toEqual([
    ['1', 'Title 1'],
    ['2', 'Newer'],
    ['3', 'Title 3'],
  ]);
});

test('an issue that is closed while pages are read is not in the list of open ones', async () => {
  const { read } = await withPages((page, base) =>
    page === 1
      ? { body: [RECORD(1), RECORD(2)], link: `<${base}?page=2>; rel="next"` }
      : { body: [{ ...RECORD(2), state: 'closed' }, RECORD(3)] },
  );

  expect((await read()).issues.map(({ id }) => id)).toEqual(['1', '3']);
});

test('a hundred problems are reported, the others are counted', async () => {
  const { read } = await withPages(() => ({ body: Array.from({ length: 130 }, () => ({ title: 'no number' })) }));

  const { issues, problems } = await read();

  expect(issues).toEqual([]);
  expect(problems).toHaveLength(101);
  expect(problems?.at(-1)).toContain('30 more');
});
