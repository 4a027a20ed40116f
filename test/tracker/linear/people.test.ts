import { describe, expect, test } from 'vitest';
import type { Trust } from '../../../src/domain/config.js';
import type { Issue } from '../../../src/domain/issue.js';
import { type FakeLinear, startFakeLinear } from '../../support/trackers/fake-linear.js';
import type { FakeUser } from '../../support/trackers/fake-linear-records.js';
import { type FakeIssue, openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;

async function readOne(fake: FakeLinear, id: string, trust: Trust | null) {
  const tracker = openFake(fake, { config: { trust } });
  const [issue] = (await tracker.issuesByIds([id], NEVER)).issues;
  if (!issue) throw new Error('it is there');
  return { issue, comments: async () => (await tracker.readComments?.(issue, NEVER)) ?? [] };
}

async function authorUnder(
  trust: Trust | null,
  fields: Partial<Omit<FakeIssue, 'id'>>,
  user: FakeUser = {},
): Promise<Issue['author']> {
  const fake = await startFakeLinear();
  fake.users.set('ann', user);
  return (await readOne(fake, fake.add(fields).id, trust)).issue.author;
}

describe('the author of an issue', () => {
  test('is trusted by default, because only invited people can write', async () => {
    expect(await authorUnder(null, { author: '@Customer' })).toEqual({ login: 'Customer', trusted: true });
  });

  test.each<[string, Partial<Omit<FakeIssue, 'id'>>, FakeUser, boolean]>([
    ['a member', {}, {}, true],
    ['a guest', {}, { guest: true }, false],
    ['somebody who was suspended', {}, { active: false }, false],
    ['an application', {}, { app: true }, false],
    ['a customer who wrote through an integration', { author: '@Customer' }, {}, false],
    ['an integration', { author: 'bot:Sentry' }, {}, false],
    ['a deleted user', { author: '' }, {}, false],
  ])('under members, %s: %o %o %s', async (_who, fields, user, trusted) => {
    expect((await authorUnder('members', fields, user))?.trusted).toBe(trusted);
  });

  test.each<[Trust]>([['members'], [['ann']]])(
    'an issue that a member filed for a customer has the customer as author: %j',
    async (trust) => {
      const fake = await startFakeLinear();
      const { id } = fake.add();
      fake.extra.set(id, { requester: '@Customer' });

      const { issue } = await readOne(fake, id, trust);

      expect(issue.author).toEqual({ login: 'Customer', trusted: false });
    },
  );

  test.each<[Trust]>([['members'], [['ann', 'zendesk']]])(
    'an issue that an integration filed under a member’s name has the integration as author: %j',
    async (trust) => {
      const fake = await startFakeLinear();
      const { id } = fake.add();
      fake.extra.set(id, { bot: 'bot:Zendesk' });

      const { issue } = await readOne(fake, id, trust);

      expect(issue.author).toEqual({ login: 'Zendesk', trusted: false });
    },
  );

  test.each(['ann', ' ANN ', '@ann', 'ann@example.org', 'user-ann'])('a list may name Ann as %j', async (name) => {
    expect((await authorUnder([name], {}))?.trusted).toBe(true);
  });

  test.each([
    ['a full name, which users choose themselves', ['Full ann'], {}],
    ['the name of an external person', ['ann'], { author: '@ann' }],
    ['the name of an integration', ['sentry'], { author: 'bot:sentry' }],
    ['nobody', [], {}],
  ])('a list does not trust %s', async (_what, trust, fields) => {
    expect((await authorUnder(trust, fields))?.trusted).toBe(false);
  });
});

describe('comments', () => {
  const said = (author: string, n: number, isMember = true) => ({
    ...{ author, isMember, body: `${author} ${n}` },
    createdAt: new Date(Date.UTC(2026, 1, 1) + n * 60_000).toISOString(),
  });
  const mixed = [
    said('ann', 1),
    said('guest', 2, false),
    said('@Customer', 3),
    said('bot:Sentry', 4),
    said('bob', 5),
    said('', 6),
  ];

  test.each<[Trust | null, (string | null)[]]>([
    [null, ['ann', 'guest', 'Customer', 'Sentry', 'bob', null]],
    ['members', ['ann', 'bob']],
    [['bob@example.org', 'customer', 'sentry'], ['bob']],
  ])('under %j an agent reads the comments of %j', async (trust, authors) => {
    const fake = await startFakeLinear();
    const { id } = fake.add({ comments: mixed });

    const told = await (await readOne(fake, id, trust)).comments();

    expect(told.map(({ author }) => author)).toEqual(authors);
  });

  test.each([true, false])(
    '150 comments are sorted newest last, whatever order Linear sends (%s)',
    async (isOldestFirst) => {
      const fake = await startFakeLinear();
      fake.isOldestFirst = isOldestFirst;
      const { id } = fake.add({ comments: Array.from({ length: 150 }, (_, n) => said('ann', n)) });

      const told = await (await readOne(fake, id, null)).comments();

      expect(told.map(({ body }) => body)).toEqual(Array.from({ length: 30 }, (_, n) => `ann ${120 + n}`));
    },
  );

  test('the newest of three comments has its time and its unchanged text', async () => {
    const fake = await startFakeLinear();
    const comment = { ...said('ann', 1), body: '  indented\n\n{{ issue.title }}' };
    const { id } = fake.add({ comments: [comment] });

    const told = await (await readOne(fake, id, 'members')).comments();

    expect(told).toEqual([{ author: 'ann', body: comment.body, created_at: comment.createdAt }]);
  });

  test('comments of a deleted issue are refused, and a response without the issue is an error', async () => {
    const fake = await startFakeLinear();
    const { id } = fake.add();
    const { comments } = await readOne(fake, id, null);
    fake.board.delete(id);

    await expect(comments()).rejects.toMatchObject({ code: 'tracker_refused' });
    fake.server.fault = () => ({ body: { data: { issue: null } } });
    await expect(comments()).rejects.toMatchObject({ code: 'tracker_response' });
  });
});
