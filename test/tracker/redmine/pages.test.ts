import { expect, test } from 'vitest';
import { type FakeRedmine, startFakeRedmine } from '../../support/trackers/fake-redmine.js';
import type { FakeAnswer } from '../../support/trackers/fake-server.js';
import { openFake } from '../../support/trackers/fake-tracker.js';
import { errorOf } from '../contract/tracker-contract.js';

const NEVER = new AbortController().signal;

/** The pages as the test wants them; everything else is the fake's. */
function withPages(fake: FakeRedmine, page: (offset: number) => object): void {
  fake.server.fault = ({ url }): FakeAnswer | null =>
    url.pathname === '/issues.json' ? { body: page(Number(url.searchParams.get('offset'))) } : null;
}

function record(id: number) {
  return { id, subject: `Issue ${id}`, status: { id: 1, name: 'New' }, relations: [] };
}

test.each([
  ['another offset than asked for', () => ({ issues: [record(1)], total_count: 1, offset: 7, limit: 100 })],
  ['no offset', () => ({ issues: [record(1)], total_count: 1, limit: 100 })],
  ['a limit of nothing', () => ({ issues: [record(1)], total_count: 1, offset: 0, limit: 0 })],
  ['more to come, and nothing here', (offset: number) => ({ issues: [], total_count: 9, offset, limit: 100 })],
  ['the same page for ever', (offset: number) => ({ issues: [record(1)], total_count: 99, offset, limit: 1 })],
])('inconsistent pages are an error, not a shorter board: %s', async (_, page) => {
  const fake = await startFakeRedmine();
  withPages(fake, page);

  const error = await errorOf(openFake(fake).issuesByStates(['New'], NEVER));

  expect(error.code).toBe('tracker_pagination');
});

test('endless pages are an error', async () => {
  const fake = await startFakeRedmine();
  withPages(fake, (offset) => ({ issues: [record(offset + 1)], total_count: 1_000_000, offset, limit: 1 }));

  const error = await errorOf(openFake(fake).issuesByStates(['New'], NEVER));

  expect(error.code).toBe('tracker_pagination');
});

test('pages that shift contain every issue once', async () => {
  const fake = await startFakeRedmine();
  const pages = new Map([
    [0, [1, 2]],
    [2, [2, 3]],
    [4, [4]],
  ]);
  withPages(fake, (offset) => ({
    ...{ issues: (pages.get(offset) ?? []).map(record), total_count: 5, offset, limit: 2 },
  }));

  const { issues } = await openFake(fake).issuesByStates(['New'], NEVER);

  expect(issues.map(({ id }) => id)).toEqual(['1', '2', '3', '4']);
});

test('smaller pages than requested are read to the end', async () => {
  const fake = await startFakeRedmine();
  fake.pageLimit = 7;
  for (let n = 0; n < 20; n++) fake.add();
  const tracker = openFake(fake);

  const listed = await tracker.issuesByStates(['New'], NEVER);
  const found = await tracker.issuesByIds([...fake.board.keys()], NEVER);

  expect([listed.issues.length, found.issues.length]).toEqual([20, 20]);
});

test.each([
  ['/users/current.json', {}],
  ['/users/current.json', { user: { id: 'five', login: 'x' } }],
  ['/issue_statuses.json', { issue_statuses: {} }],
  ['/issue_statuses.json', { issue_statuses: [{ id: 1 }] }],
  ['/issues.json', { issues: [], offset: 0, limit: 100 }],
  ['/issues.json', { issues: {}, total_count: 0, offset: 0, limit: 100 }],
  ['/projects/demo/memberships.json', { memberships: null }],
])('%s with %j is unreadable', async (path, body) => {
  const fake = await startFakeRedmine();
  fake.add();
  fake.server.fault = ({ url }) => (url.pathname === path ? { body } : null);

  const error = await errorOf(openFake(fake, { config: { trust: 'members' } }).issuesByStates(['New'], NEVER));

  expect(error.code).toBe('tracker_response');
});

test('an issue without a number among those asked for by number is an error', async () => {
  const fake = await startFakeRedmine();
  withPages(fake, (offset) => ({ issues: [{ subject: 'Who?' }], total_count: 1, offset, limit: 100 }));

  expect((await errorOf(openFake(fake).issuesByIds(['1'], NEVER))).code).toBe('tracker_response');
});

test('issues that were not requested are ignored', async () => {
  const fake = await startFakeRedmine();
  withPages(fake, (offset) => ({ issues: [record(1), record(2)], total_count: 2, offset, limit: 100 }));

  const { issues } = await openFake(fake).issuesByIds(['2'], NEVER);

  expect(issues.map(({ id }) => id)).toEqual(['2']);
});

test('an idle poll is two requests with short answers', async () => {
  const fake = await startFakeRedmine();
  fake.add();
  const tracker = openFake(fake);
  const first = await tracker.issuesByStates(['New', 'In Progress'], NEVER);
  const before = fake.server.requests.length;

  const second = await tracker.issuesByStates(['New', 'In Progress'], NEVER);

  expect(second).toEqual(first);
  const asked = fake.server.requests.slice(before);
  expect(asked.map(({ url }) => url.pathname)).toEqual(['/issues.json', '/users/current.json']);
  for (const { headers } of asked) expect(headers['if-none-match']).toMatch(/^W\//);
  const { url } = asked[0] ?? {};
  expect(Object.fromEntries(url?.searchParams ?? [])).toEqual({
    ...{ project_id: 'demo', subproject_id: '!*', status_id: '1|2', sort: 'created_on:asc,id' },
    ...{ include: 'relations', limit: '100', offset: '0' },
  });
});

test('batches have no quota', async () => {
  const fake = await startFakeRedmine();

  expect(await openFake(fake).issuesByStates(['New'], NEVER)).not.toHaveProperty('rateLimit');
});
