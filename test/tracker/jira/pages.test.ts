import { describe, expect, test } from 'vitest';
import { startFakeJira } from '../../support/trackers/fake-jira.js';
import { openFake } from '../../support/trackers/fake-tracker.js';
import { errorOf } from '../contract/tracker-contract.js';

const NEVER = new AbortController().signal;
const isSearch = ({ url }: { readonly url: URL }) => url.pathname.endsWith('/search/jql');

async function withPages(pages: (token: string | undefined) => object) {
  const jira = await startFakeJira();
  const record = (n: number) => ({
    ...{ id: String(n), key: `ABC-${n}` },
    fields: { summary: `Title ${n}`, status: { name: 'To Do' }, project: { id: '10000' } },
  });
  jira.server.fault = (request) => (isSearch(request) ? { body: pages(request.body.nextPageToken) } : null);
  const tracker = openFake(jira);
  return { jira, record, read: () => tracker.issuesByStates(['To Do'], NEVER) };
}

describe('pages', () => {
  test('have a hundred issues and are requested with the token of the previous page', async () => {
    const jira = await startFakeJira();
    for (let n = 0; n < 201; n++) jira.add();

    await openFake(jira).issuesByStates(['To Do'], NEVER);

    const [first, second, third, ...more] = jira.server.requests.filter(isSearch).map(({ body }) => body);
    expect(first).toMatchObject({
      maxResults: 100,
      fields: expect.arrayContaining(['summary', 'status', 'issuelinks']),
    });
    expect(second).toEqual({ ...first, nextPageToken: expect.any(String) });
    expect(third).toEqual({ ...first, nextPageToken: expect.any(String) });
    expect(more).toEqual([]);
  });

  test('may be smaller than requested', async () => {
    const jira = await startFakeJira();
    jira.pageLimit = 2;
    for (let n = 0; n < 5; n++) jira.add();

    expect((await openFake(jira).issuesByStates(['To Do'], NEVER)).issues).toHaveLength(5);
  });

  test('with a repeated issue keep its last record', async () => {
    const { record, read } = await withPages((token) =>
      token === undefined
        ? { issues: [record(1), record(2)], nextPageToken: 'b', isLast: false }
        : { issues: [{ ...record(2), key: 'ABC-22' }, record(3)], isLast: true },
    );

    const { issues } = await read();

    expect(issues.map(({ identifier }) => identifier)).toEqual(['ABC-1', 'ABC-22', 'ABC-3']);
  });

  test('without isLast end without a token', async () => {
    const { record, read } = await withPages((token) =>
      token === undefined ? { issues: [record(1)], nextPageToken: 'b' } : { issues: [record(2)], nextPageToken: null },
    );

    expect((await read()).issues).toHaveLength(2);
  });

  test('end at isLast even with a token', async () => {
    const { jira, record, read } = await withPages(() => ({ issues: [record(1)], nextPageToken: 'b', isLast: true }));

    await read();

    expect(jira.server.requests.filter(isSearch)).toHaveLength(1);
  });

  test.each([
    ['come round again', (n: number) => ({ nextPageToken: n % 2 === 0 ? 'a' : 'b', isLast: false })],
    ['have no token though there are more', () => ({ isLast: false })],
  ])('that %s are an error', async (_, more) => {
    let n = 0;
    const { record, read } = await withPages(() => ({ issues: [record(++n)], ...more(n) }));

    expect((await errorOf(read())).code).toBe('tracker_pagination');
    expect(n).toBeLessThan(5);
  });

  test('without new issues are an error', async () => {
    let n = 0;
    const { record, read } = await withPages(() => ({ issues: [record(1)], nextPageToken: `t${++n}`, isLast: false }));

    expect((await errorOf(read())).code).toBe('tracker_pagination');
  });
});

describe('a search that lags behind', () => {
  test('an issue that was moved meanwhile is left out', async () => {
    const { record, read } = await withPages(() => ({
      issues: [record(1), { ...record(2), fields: { ...record(2).fields, status: { name: 'Done' } } }],
      isLast: true,
    }));

    expect((await read()).issues.map(({ id }) => id)).toEqual(['1']);
  });
});

describe('the cached project', () => {
  const reading = async () => {
    const jira = await startFakeJira();
    jira.add();
    let nowMs = 0;
    const tracker = openFake({ ...jira, clock: () => nowMs });
    const read = (...states: string[]) => tracker.issuesByStates(states, NEVER);
    const asked = () => jira.server.requests.filter(({ url }) => url.pathname.endsWith('/statuses')).length;
    return { jira, read, asked, sleep: (ms: number) => (nowMs += ms) };
  };

  test('is read again only when it is old', async () => {
    const { read, asked, sleep } = await reading();

    await read('To Do');
    await read('To Do');
    expect(asked()).toBe(1);
    sleep(10 * 60_000);
    await read('To Do');

    expect(asked()).toBe(2);
  });

  test('is read again for an unknown state, but not at every poll', async () => {
    const { jira, read, asked, sleep } = await reading();
    await read('Parked');
    await read('Parked');
    expect(asked()).toBe(1);

    jira.statuses.push({ id: '10050', name: 'Parked' });
    jira.add({ state: 'Parked' });
    sleep(60_000);
    const { issues, problems } = await read('Parked');

    expect([issues.length, problems, asked()]).toEqual([1, [], 2]);
  });

  test('is cleared when Jira rejects a search', async () => {
    const { jira, read, asked } = await reading();
    await read('To Do', 'Done');
    jira.statuses.pop();

    const refused = await errorOf(read('To Do', 'Done'));
    const { issues, problems } = await read('To Do', 'Done');

    expect(refused).toMatchObject({
      code: 'tracker_status',
      message: expect.stringContaining("'10002' does not exist"),
    });
    expect([issues.length, problems?.length, asked()]).toEqual([1, 1, 2]);
  });

  test('a renamed state is not taken for the old one', async () => {
    const { jira, read, asked } = await reading();
    await read('To Do');
    const [first] = jira.statuses;
    if (first) first.name = 'Ideas';
    for (const issue of jira.board.values()) issue.state = 'Ideas';

    expect((await read('To Do')).issues).toEqual([]);
    expect(asked()).toBe(1);
  });
});
