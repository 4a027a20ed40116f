import { describe, expect, test } from 'vitest';
import type { Trust } from '../../../src/domain/config.js';
import { type FakeJira, startFakeJira } from '../../support/trackers/fake-jira.js';
import { type FakeIssue, openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;

async function authorOf(jira: FakeJira, fields: Partial<FakeIssue>, trust: Trust | null) {
  const { id } = jira.add(fields);
  const { issues } = await openFake(jira, { config: { trust } }).issuesByIds([id], NEVER);
  return issues[0]?.author;
}

describe('authors', () => {
  test('the default is anyone', async () => {
    const jira = await startFakeJira();

    expect(await authorOf(jira, { author: 'cus', isMember: false }, null)).toEqual({ login: 'cus', trusted: true });
    expect(await authorOf(jira, { author: 'cus', isMember: false }, 'anyone')).toEqual({ login: 'cus', trusted: true });
  });

  test('members have an Atlassian account; portal customers and apps do not count', async () => {
    const jira = await startFakeJira();
    const app = jira.add();
    jira.fieldsOf.set(app.id, { creator: { accountId: 'a', displayName: 'Bot', accountType: 'app' } });

    const { issues } = await openFake(jira, { config: { trust: 'members' } }).issuesByIds([app.id], NEVER);

    expect(issues[0]?.author).toEqual({ login: 'Bot', trusted: false });
    expect(await authorOf(jira, { author: 'ann' }, 'members')).toEqual({ login: 'ann', trusted: true });
    expect(await authorOf(jira, { author: 'cus', isMember: false }, 'members')).toEqual({
      login: 'cus',
      trusted: false,
    });
  });

  test('a list names account ids or addresses in any case', async () => {
    const jira = await startFakeJira();
    jira.emails.set('ann', 'ann@example.org');

    expect(await authorOf(jira, { author: 'ann' }, ['557058:ANN'])).toEqual({ login: 'ann', trusted: true });
    expect(await authorOf(jira, { author: 'ann' }, ['Ann@example.org'])).toEqual({ login: 'ann', trusted: true });
  });

  test('displayed names do not count; an unlisted author is shown with the account id', async () => {
    const jira = await startFakeJira();

    const author = await authorOf(jira, { author: 'ann' }, ['ann', 'bob']);

    expect(author).toEqual({ login: 'ann (557058:ann)', trusted: false });
  });

  test('a deleted account is trusted only under anyone', async () => {
    const jira = await startFakeJira();
    const { id } = jira.add();
    jira.fieldsOf.set(id, { creator: null });
    const trusted = async (trust: Trust) =>
      (await openFake(jira, { config: { trust } }).issuesByIds([id], NEVER)).issues[0]?.author?.trusted;

    expect([await trusted('anyone'), await trusted('members'), await trusted(['x'])]).toEqual([true, false, false]);
  });

  test('the creator counts, not the reporter', async () => {
    const jira = await startFakeJira();
    const { id } = jira.add({ author: 'cus', isMember: false });
    jira.fieldsOf.set(id, { reporter: { accountId: '557058:ann', displayName: 'ann', accountType: 'atlassian' } });

    const { issues } = await openFake(jira, { config: { trust: 'members' } }).issuesByIds([id], NEVER);

    expect(issues[0]?.author).toEqual({ login: 'cus', trusted: false });
  });

  test('a changed setting counts from the next read on', async () => {
    const jira = await startFakeJira();
    const { id } = jira.add({ author: 'cus', isMember: false });
    let trust: Trust = 'anyone';
    const tracker = openFake(jira, { settings: () => ({ trust }) });
    await tracker.issuesByIds([id], NEVER);

    trust = 'members';
    const { issues } = await tracker.issuesByIds([id], NEVER);

    expect(issues[0]?.author?.trusted).toBe(false);
  });
});

describe('comments', () => {
  const word = (n: number, author = 'ann', body = `word ${n}`) => ({
    ...{ author, isMember: author !== 'cus', body },
    createdAt: new Date(Date.UTC(2026, 1, 1) + n * 60_000).toISOString(),
  });
  const reading = async (comments: FakeIssue['comments'], trust: Trust | null = null) => {
    const jira = await startFakeJira();
    const { id } = jira.add({ comments });
    const tracker = openFake(jira, { config: { trust } });
    const [issue] = (await tracker.issuesByIds([id], NEVER)).issues;
    if (!issue) throw new Error('it is there');
    jira.server.requests.length = 0;
    return { jira, issue, read: async () => (await tracker.readComments?.(issue, NEVER)) ?? [] };
  };

  test('have author, text and time', async () => {
    const { read } = await reading([word(1)]);

    expect(await read()).toEqual([{ author: 'ann', body: 'word 1', created_at: '2026-02-01T00:01:00.000Z' }]);
  });

  test('only those of trusted people are read', async () => {
    const { read } = await reading([word(1), word(2, 'cus'), word(3)], 'members');

    expect((await read()).map(({ body }) => body)).toEqual(['word 1', 'word 3']);
  });

  test('strangers who write page after page do not hide what was said before', async () => {
    const flood = Array.from({ length: 250 }, (_, n) => word(n + 10, 'cus'));
    const { jira, read } = await reading([word(1), ...flood], 'members');

    expect((await read()).map(({ body }) => body)).toEqual(['word 1']);
    expect(jira.server.requests).toHaveLength(3);
  });

  test('it is not looked back for ever', async () => {
    const flood = Array.from({ length: 900 }, (_, n) => word(n + 10, 'cus'));
    const { jira, read } = await reading([word(1), ...flood], 'members');

    expect(await read()).toEqual([]);
    expect(jira.server.requests).toHaveLength(5);
  });

  test('one request is enough where thirty are found', async () => {
    const { jira, read } = await reading(Array.from({ length: 150 }, (_, n) => word(n)));

    expect(await read()).toHaveLength(30);
    expect(jira.server.requests).toHaveLength(1);
  });

  test('a long one is cut', async () => {
    const { read } = await reading([word(1, 'ann', 'x'.repeat(30_000))]);

    const [told] = await read();

    expect(told?.body.length).toBeLessThan(10_100);
    expect(told?.body).toContain('(cut)');
  });

  test("one that a stranger has changed is a stranger's", async () => {
    const { jira, read } = await reading([word(1)], ['557058:ann']);
    const comment = (editor: string) => ({
      author: { accountId: '557058:ann', displayName: 'ann', accountType: 'atlassian' },
      updateAuthor: { accountId: editor, displayName: 'x', accountType: 'atlassian' },
      body: 'changed',
    });
    jira.server.fault = () => ({ body: { comments: [comment('557058:eve'), comment('557058:ann')], total: 2 } });

    expect(await read()).toHaveLength(1);
  });

  test.each([[{}], [{ comments: 'many' }], [[]], [null]])('an answer without a list is an error: %j', async (body) => {
    const { jira, read } = await reading([word(1)]);
    jira.server.fault = () => ({ body });

    await expect(read()).rejects.toMatchObject({ code: 'tracker_response' });
  });

  test('records that are none are left out', async () => {
    const { jira, read } = await reading([word(1)]);
    jira.server.fault = () => ({ body: { comments: [null, 7, {}, { body: '' }, { body: 'text', created: 5 }] } });

    expect(await read()).toEqual([{ author: null, body: 'text', created_at: null }]);
  });
});
