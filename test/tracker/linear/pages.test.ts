import { describe, expect, test } from 'vitest';
import { startFakeLinear, uuid } from '../../support/trackers/fake-linear.js';
import { openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;

const node = (n: number) => ({
  ...{ id: uuid(n), identifier: `ENG-${n}`, title: `Title ${n}`, state: { name: 'Todo' }, priority: 0 },
  labels: { nodes: [], pageInfo: { hasNextPage: false } },
  inverseRelations: { nodes: [], pageInfo: { hasNextPage: false } },
});

/** Opens a tracker, reads its scope, and then lets the test answer every page. */
async function withPages(pageOf: (page: number, after: string | null) => { nodes: unknown; pageInfo: unknown }) {
  const fake = await startFakeLinear();
  const tracker = openFake(fake);
  await tracker.prepare?.(NEVER);
  let pages = 0;
  fake.server.fault = ({ body }) => ({
    body: { data: { projects: { nodes: [{ id: 'project-1' }] }, issues: pageOf(++pages, body.variables.after) } },
  });
  return { read: () => tracker.issuesByStates(['Todo'], NEVER), pages: () => pages };
}

const more = (endCursor: string | null) => ({ hasNextPage: true, endCursor });
const last = { hasNextPage: false, endCursor: 'z' };

describe('pages', () => {
  test('the first page is as large as the last list, and further pages have the full size', async () => {
    const fake = await startFakeLinear();
    const tracker = openFake(fake);
    const sizes = () =>
      fake.server.requests.flatMap(({ body }) => (body.query.includes('BatonIssues') ? [body.variables.first] : []));
    await tracker.issuesByStates(['Todo'], NEVER);
    await tracker.issuesByStates(['Todo'], NEVER);
    for (let n = 0; n < 150; n++) fake.add();

    const { issues } = await tracker.issuesByStates(['Todo'], NEVER);

    expect(issues).toHaveLength(150);
    expect(sizes()).toEqual([50, 10, 10, 100, 100]);
  });

  test('an issue that moved to the next page is listed once, in its current state', async () => {
    const { read } = await withPages((page) =>
      page === 1
        ? { nodes: [node(1), { ...node(2), title: 'Old' }], pageInfo: more('a') }
        : { nodes: [{ ...node(2), title: 'New' }, node(3)], pageInfo: last },
    );

    const { issues } = await read();

    expect(issues.map(({ identifier, title }) => [identifier, title])).toEqual([
      ['ENG-1', 'Title 1'],
      ['ENG-2', 'New'],
      ['ENG-3', 'Title 3'],
    ]);
  });

  test('the cursor of a page leads to the next', async () => {
    const asked: (string | null)[] = [];
    const { read } = await withPages((page, after) => {
      asked.push(after);
      return { nodes: [node(page)], pageInfo: page < 3 ? more(`after-${page}`) : last };
    });

    await read();

    expect(asked).toEqual([null, 'after-1', 'after-2']);
  });

  test.each([
    ['a cursor that was there before', (page: number) => ({ nodes: [node(page)], pageInfo: more('same') })],
    ['more, but not where', (page: number) => ({ nodes: [node(page)], pageInfo: more(null) })],
    ['more, and an empty cursor', (page: number) => ({ nodes: [node(page)], pageInfo: more('') })],
    ['nothing new, and more to come', (page: number) => ({ nodes: [node(1)], pageInfo: more(`c${page}`) })],
    ['nothing at all, and more to come', (page: number) => ({ nodes: [], pageInfo: more(`c${page}`) })],
  ])('%s is an error, not the end of the list', async (_what, pageOf) => {
    const { read, pages } = await withPages(pageOf);

    await expect(read()).rejects.toMatchObject({ code: 'tracker_pagination' });
    expect(pages()).toBeLessThanOrEqual(2);
  });

  test.each([
    ['no pageInfo', { nodes: [], pageInfo: null }],
    ['hasNextPage as a text', { nodes: [], pageInfo: { hasNextPage: 'false' } }],
    ['no nodes', { nodes: null, pageInfo: last }],
  ])('%s is not treated as an empty board', async (_what, page) => {
    const { read } = await withPages(() => page);

    await expect(read()).rejects.toMatchObject({ code: 'tracker_response' });
  });

  test('archived and deleted issues are left out, although Linear sends them', async () => {
    const away = [
      { ...node(2), archivedAt: '2026-02-01T00:00:00Z' },
      { ...node(3), trashed: true },
    ];
    const { read } = await withPages(() => ({ nodes: [node(1), ...away], pageInfo: last }));

    expect((await read()).issues.map(({ identifier }) => identifier)).toEqual(['ENG-1']);
  });

  test('a failed page fails the whole read', async () => {
    const fake = await startFakeLinear();
    for (let n = 0; n < 60; n++) fake.add();
    const tracker = openFake(fake);
    fake.server.fault = ({ body }) => (body.variables.after ? { status: 502, raw: 'oops' } : null);

    await expect(tracker.issuesByStates(['Todo'], NEVER)).rejects.toMatchObject({ code: 'tracker_status' });
  });
});

describe('an issue with many labels or relations', () => {
  test('is read again in full, and other issues are not', async () => {
    const fake = await startFakeLinear();
    const labels = Array.from({ length: 40 }, (_, n) => `label-${n}`);
    const blockedBy = Array.from({ length: 12 }, () => fake.add({ state: 'Done' }).id);
    const rich = Array.from({ length: 9 }, () => fake.add({ labels, blockedBy }));
    fake.add();

    const { issues } = await openFake(fake).issuesByStates(['Todo'], NEVER);

    const deep = fake.server.requests.filter(({ body }) => body.variables.nested === 250);
    const found = issues.filter(({ labels: { length } }) => length === 40);
    expect(issues).toHaveLength(10);
    expect(found.map(({ id }) => id).sort()).toEqual(rich.map(({ id }) => id).sort());
    expect(found.every(({ blocked_by }) => blocked_by.length === 12)).toBe(true);
    expect(deep.map(({ body }) => body.variables.first)).toEqual([7, 2]);
  });

  test('is not started above the limit, and has the reason', async () => {
    const fake = await startFakeLinear();
    const { id } = fake.add({ labels: Array.from({ length: 251 }, (_, n) => `label-${n}`) });

    const [issue] = (await openFake(fake).issuesByIds([id], NEVER)).issues;

    expect(issue).toMatchObject({ dispatchable: false, held_back: expect.stringContaining('more than 250 labels') });
  });

  test('is gone when it left the project in between', async () => {
    const fake = await startFakeLinear();
    const { id } = fake.add({ labels: Array.from({ length: 20 }, (_, n) => `label-${n}`) });
    fake.server.fault = ({ body }) => {
      if (body.variables.nested === 250) fake.extra.set(id, { project: null });
      return null;
    };

    expect((await openFake(fake).issuesByStates(['Todo'], NEVER)).issues).toEqual([]);
  });
});

describe('a read by id', () => {
  test('asks for fifty issues in one request, with a page of that size', async () => {
    const fake = await startFakeLinear();
    const ids = Array.from({ length: 70 }, () => fake.add().id);
    const tracker = openFake(fake);
    await tracker.prepare?.(NEVER);
    fake.server.requests.length = 0;

    const { issues } = await tracker.issuesByIds(ids, NEVER);

    expect(issues).toHaveLength(70);
    expect(fake.server.requests.map(({ body }) => body.variables.first)).toEqual([50, 20]);
  });
});
