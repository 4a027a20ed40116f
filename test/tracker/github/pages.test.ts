import { describe, expect, test } from 'vitest';
import { REPO_ID, startFakeGithub } from '../../support/trackers/fake-github.js';
import { openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;
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

test('the first issue of a new page is found, though the page before it did not change', async () => {
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

test('pages that are gone are not missed', async () => {
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

  test('a page brings nothing new and claims that there are more', async () => {
    const { read } = await withPages((page, base) => ({
      body: [RECORD(1)],
      link: `<${base}?page=${page + 1}>; rel="next"`,
    }));

    await expect(read()).rejects.toMatchObject({ code: 'tracker_pagination' });
  });

  test('pull requests that come round and round are nothing new either', async () => {
    const { read } = await withPages((page, base) => ({
      body: [{ ...RECORD(1), pull_request: {} }],
      link: `<${base}?page=${page + 1}>; rel="next"`,
    }));

    await expect(read()).rejects.toMatchObject({ code: 'tracker_pagination' });
  });

  test('they never end', async () => {
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

test('of an issue that shifted from page to page the later word counts', async () => {
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

test('an issue that was closed while pages were read is not among the open ones', async () => {
  const { read } = await withPages((page, base) =>
    page === 1
      ? { body: [RECORD(1), RECORD(2)], link: `<${base}?page=2>; rel="next"` }
      : { body: [{ ...RECORD(2), state: 'closed' }, RECORD(3)] },
  );

  expect((await read()).issues.map(({ id }) => id)).toEqual(['1', '3']);
});

test('a hundred problems are told, the rest is counted', async () => {
  const { read } = await withPages(() => ({ body: Array.from({ length: 130 }, () => ({ title: 'no number' })) }));

  const { issues, problems } = await read();

  expect(issues).toEqual([]);
  expect(problems).toHaveLength(101);
  expect(problems?.at(-1)).toContain('30 more');
});
