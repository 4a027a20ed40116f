import { describe, expect, test } from 'vitest';
import { startFakeGitlab } from '../../support/trackers/fake-gitlab.js';
import { openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;
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

test('issues are asked for by number, fifty at a time, whatever their state and whoever wrote them', async () => {
  const fake = await startFakeGitlab();
  const ids = Array.from({ length: 120 }, () => fake.add().id);

  await openFake(fake).issuesByIds(ids, NEVER);

  const asked = fake.server.requests.filter(({ url }) => url.pathname.endsWith('/issues')).map(({ url }) => url);
  expect(asked.map(({ searchParams }) => searchParams.getAll('iids[]').length)).toEqual([50, 50, 20]);
  expect(asked[0]?.searchParams.get('state')).toBe('all');
  expect(asked[0]?.searchParams.get('scope')).toBe('all');
});

test('a full page is followed by another look, though no header says so', async () => {
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

  test('a page brings nothing new and claims that there are more', async () => {
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

test('of an issue that shifted from page to page the later word counts', async () => {
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

test('an answer about other issues than those asked for says nothing about either', async () => {
  const fake = await startFakeGitlab();
  fake.server.fault = ({ url }) => (url.pathname.endsWith('/issues') ? { body: [RECORD(2)] } : null);

  const { issues, unknown } = await openFake(fake).issuesByIds(['1'], NEVER);

  expect([issues, unknown]).toEqual([[], []]);
});

test('a hundred problems are told, the rest is counted', async () => {
  const nameless = Array.from({ length: 65 }, () => ({ title: 'no number' }));
  const { read } = await withPages((page) => ({ body: nameless, next: page === 1 ? '2' : '' }));

  const { issues, problems } = await read();

  expect(issues).toEqual([]);
  expect(problems).toHaveLength(101);
  expect(problems?.at(-1)).toContain('30 more');
});
