import { expect, test } from 'vitest';
import { startFakeRedmine } from '../../support/trackers/fake-redmine.js';
import { openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;

test('every field is read', async () => {
  const fake = await startFakeRedmine();
  fake.add({
    ...{ title: 'One', description: '*Textile*, as it is', state: 'In Progress', priority: 2, labels: ['UI', 'baton'] },
    ...{ author: 'ann', assignee: 'bob', createdAt: '2026-01-02T03:04:05Z', updatedAt: '2026-01-03T03:04:05Z' },
  });
  const tracker = openFake(fake);

  const { issues, problems } = await tracker.issuesByStates(['In Progress'], NEVER);

  expect(problems).toEqual([]);
  expect(issues).toEqual([
    {
      id: '1',
      identifier: 'RM-1',
      title: 'One',
      description: '*Textile*, as it is',
      priority: 2,
      state: 'In Progress',
      branch_name: null,
      url: `${fake.server.url}/issues/1`,
      assignee_id: String(fake.idOf('bob')),
      author: { login: 'Ann Test', trusted: true },
      labels: ['bug', 'front end', 'ui', 'baton'],
      blocked_by: [],
      comments: [],
      dispatchable: true,
      held_back: null,
      native_ref: { issue_id: 1 },
      created_at: '2026-01-02T03:04:05.000Z',
      updated_at: '2026-01-03T03:04:05.000Z',
    },
  ]);
});

test('an address with a path is the base of every request and of the addresses of issues', async () => {
  const fake = await startFakeRedmine();
  fake.add();
  const tracker = openFake(fake, { provider: { endpoint: `${fake.server.url}/tools/redmine/` } });
  fake.server.fault = ({ url }) => {
    if (!url.pathname.startsWith('/tools/redmine/')) return { status: 500 };
    url.pathname = url.pathname.slice('/tools/redmine'.length);
    return null;
  };

  const { issues } = await tracker.issuesByStates(['New'], NEVER);

  expect(issues[0]?.url).toBe(`${fake.server.url}/tools/redmine/issues/1`);
  expect(tracker.scope).toBe(`redmine:${new URL(fake.server.url).host}/tools/redmine/demo`);
});

test.each([
  [1, 1],
  [2, 2],
  [3, 3],
  [4, 4],
])('priority %i is read by its name', async (priority, expected) => {
  const fake = await startFakeRedmine();
  fake.add({ priority });

  const { issues } = await openFake(fake).issuesByStates(['New'], NEVER);

  expect(issues[0]?.priority).toBe(expected);
});

test('label_fields names the only custom fields that are labels', async () => {
  const fake = await startFakeRedmine();
  fake.add({ labels: ['UI'] });

  const { issues } = await openFake(fake, { provider: { label_fields: ['hint'] } }).issuesByStates(['New'], NEVER);

  expect(issues[0]?.labels).toEqual(['bug', 'front end', 'some text']);
});

test('an issue is found by number, #number and identifier; other texts are gone without a request', async () => {
  const fake = await startFakeRedmine();
  for (let n = 0; n < 3; n++) fake.add();
  const tracker = openFake(fake);

  const found = await tracker.issuesByIds(['1', '#2', 'rm-3', 'RM-3', 'RM-x', '0', '-1', '1,2', '99999999999'], NEVER);

  expect(found.issues.map(({ id }) => id)).toEqual(['1', '2', '3']);
  expect(found.unknown).toEqual([]);
  const asked = fake.server.requests.flatMap(({ url }) => url.searchParams.get('issue_id') ?? []);
  expect(asked).toEqual(['1,2,3']);
});

test('issues of other projects are neither listed nor found', async () => {
  const fake = await startFakeRedmine();
  const ids = [1, 2, 3, 4].map((project) => {
    const { id } = fake.add();
    fake.projectOf.set(id, project);
    return id;
  });
  const tracker = openFake(fake);

  const listed = await tracker.issuesByStates(['New'], NEVER);
  const found = await tracker.issuesByIds(ids, NEVER);

  for (const { issues, unknown } of [listed, found]) {
    expect(issues.map(({ id }) => id)).toEqual(['1']);
    expect(unknown).toEqual([]);
  }
});

test.each([true, false])(
  'include_subprojects takes those along, whether lists have them (%s) or not',
  async (listed) => {
    const fake = await startFakeRedmine();
    fake.listsSubprojects = listed;
    for (const project of [1, 2, 3]) fake.projectOf.set(fake.add().id, project);
    const tracker = openFake(fake, { provider: { include_subprojects: true } });

    const inList = await tracker.issuesByStates(['New'], NEVER);
    const found = await tracker.issuesByIds(['1', '2', '3'], NEVER);

    for (const { issues } of [inList, found]) expect(issues.map(({ id }) => id)).toEqual(['1', '2']);
  },
);

test('blockers in any project are read with one request; issues that it blocks are not blockers', async () => {
  const fake = await startFakeRedmine();
  const elsewhere = fake.add({ state: 'In Progress' });
  fake.projectOf.set(elsewhere.id, 3);
  const closed = fake.add({ state: 'Closed' });
  const listed = fake.add();
  const first = fake.add({ blockedBy: [elsewhere.id, closed.id] });
  const second = fake.add({ blockedBy: [listed.id, elsewhere.id] });
  const tracker = openFake(fake);

  const { issues } = await tracker.issuesByStates(['New'], NEVER);

  const blockers = new Map(issues.map(({ id, blocked_by }) => [id, blocked_by]));
  expect(blockers.get(listed.id)).toEqual([]);
  expect(blockers.get(first.id)).toEqual([
    { id: '1', identifier: 'RM-1', state: 'In Progress' },
    { id: '2', identifier: 'RM-2', state: 'Closed' },
  ]);
  expect(blockers.get(second.id)).toEqual([
    { id: '1', identifier: 'RM-1', state: 'In Progress' },
    { id: '3', identifier: 'RM-3', state: 'New' },
  ]);
  expect(fake.server.requests.map(({ url }) => url.searchParams.get('issue_id')).filter(Boolean)).toEqual(['1,2']);
});

test('a deleted blocker has no state, and a hidden one is missing', async () => {
  const fake = await startFakeRedmine();
  const deleted = fake.add({ state: 'Closed' });
  const unseen = fake.add();
  fake.projectOf.set(unseen.id, 4);
  const { id } = fake.add({ blockedBy: [deleted.id, unseen.id] });
  fake.server.fault = ({ url }) => {
    if (url.searchParams.get('issue_id') === deleted.id) fake.board.delete(deleted.id);
    return null;
  };

  const { issues } = await openFake(fake).issuesByIds([id], NEVER);

  expect(issues[0]?.blocked_by).toEqual([{ id: '1', identifier: 'RM-1', state: null }]);
});

test.each(['me', 'baton', '5'])('assignee %s holds back issues of other accounts', async (assignee) => {
  const fake = await startFakeRedmine();
  for (const each of ['baton', 'bob', null]) fake.add({ assignee: each });

  const { issues } = await openFake(fake, { provider: { assignee } }).issuesByStates(['New'], NEVER);

  expect(issues.map(({ dispatchable, held_back }) => [dispatchable, held_back])).toEqual([
    [true, null],
    [false, 'is assigned to Bob Test, not to baton'],
    [false, 'is assigned to nobody, not to baton'],
  ]);
});

test('assignee may be the login or number of another account', async () => {
  const fake = await startFakeRedmine();
  for (const each of ['baton', 'bob', null]) fake.add({ assignee: each });
  const held = async (assignee: string | number) => {
    const { issues } = await openFake(fake, { provider: { assignee } }).issuesByStates(['New'], NEVER);
    return issues.map(({ held_back }) => held_back);
  };

  const [byLogin, byNumber] = [await held('Bob'), await held(fake.idOf('bob'))];

  expect(byLogin).toEqual(['is assigned to Baton Test, not to Bob', null, 'is assigned to nobody, not to Bob']);
  expect(byNumber.map((why) => why === null)).toEqual([false, true, false]);
});
