import { expect, test } from 'vitest';
import type { Trust } from '../../../src/domain/config.js';
import { type FakeGitlab, startFakeGitlab } from '../../support/trackers/fake-gitlab.js';
import { openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;

function said(count: number, isMember: (n: number) => boolean) {
  return Array.from({ length: count }, (_, n) => ({
    ...{ author: isMember(n) ? 'ann' : 'eve', isMember: isMember(n), body: `word ${n}` },
    createdAt: new Date(Date.UTC(2026, 1, 1) + n * 60_000).toISOString(),
  }));
}

async function told(fake: FakeGitlab, trust: Trust | null = null) {
  const tracker = openFake(fake, { config: { trust } });
  const [issue] = (await tracker.issuesByIds(['1'], NEVER)).issues;
  if (!issue) throw new Error('it is there');
  fake.server.requests.length = 0;
  const comments = (await tracker.readComments?.(issue, NEVER)) ?? [];
  const pages = fake.server.requests.filter(({ url }) => url.pathname.endsWith('/notes')).map(({ url }) => url);
  return { bodies: comments.map(({ body }) => body), comments, pages };
}

test('the newest page of comments is enough, and pages of strangers hide no member', async () => {
  const many = await startFakeGitlab();
  many.add({ comments: said(250, () => true) });
  const flooded = await startFakeGitlab();
  flooded.add({ comments: said(220, (n) => n < 20) });

  const ofMany = await told(many);
  const ofFlooded = await told(flooded);

  expect([ofMany.pages.length, ofMany.bodies[0], ofMany.bodies.at(-1)]).toEqual([1, 'word 220', 'word 249']);
  expect(ofFlooded.pages).toHaveLength(3);
  expect(ofFlooded.bodies).toEqual(Array.from({ length: 20 }, (_, n) => `word ${n}`));
  expect(ofFlooded.comments[0]).toEqual({ author: 'ann', body: 'word 0', created_at: '2026-02-01T00:00:00.000Z' });
});

test('at most three pages are read', async () => {
  const fake = await startFakeGitlab();
  fake.add({ comments: said(450, (n) => n < 20) });

  const { bodies, pages } = await told(fake);

  expect([bodies, pages.length]).toEqual([[], 3]);
});

test.each<[Trust | null, readonly string[]]>([
  [null, ['word 0', 'word 2']],
  ['members', ['word 0', 'word 2']],
  ['anyone', ['word 0', 'word 1', 'word 2', 'word 3']],
  [['EVE'], ['word 1', 'word 3']],
])('under trust %j a run reads %j', async (trust, words) => {
  const fake = await startFakeGitlab();
  fake.add({ comments: said(4, (n) => n % 2 === 0) });

  expect((await told(fake, trust)).bodies).toEqual(words);
});

test('notes of GitLab itself are no comments, with and without its filter', async () => {
  const fake = await startFakeGitlab();
  fake.add({ comments: said(1, () => true) });
  const at = '2026-02-02T00:00:00.000Z';
  fake.server.fault = ({ url }) =>
    url.pathname.endsWith('/notes')
      ? {
          body: [
            { system: true, body: 'assigned to @ann', author: { username: 'ann' }, created_at: at },
            { system: false, body: 'Go on.', author: { username: 'ann' }, created_at: at },
          ],
        }
      : null;

  const { bodies, pages } = await told(fake);

  expect(bodies).toEqual(['Go on.']);
  expect(pages[0]?.searchParams.get('activity_filter')).toBe('only_comments');
});

test('long comments are cut, and so is their total', async () => {
  const fake = await startFakeGitlab();
  const long = said(8, () => true).map((comment) => ({ ...comment, body: 'x'.repeat(20_000) }));
  fake.add({ comments: long });

  const { bodies } = await told(fake);

  expect(bodies.every((body) => body.length < 10_100)).toBe(true);
  expect(bodies.join('').length).toBeLessThanOrEqual(60_000);
});

test.each([
  [{ body: {} }, 'tracker_response'],
  [{ status: 404, body: { message: '404 Not Found' } }, 'tracker_status'],
])('what is no list of comments is an error: %j', async (answer, code) => {
  const fake = await startFakeGitlab();
  fake.add();
  fake.server.fault = ({ url }) => (url.pathname.endsWith('/notes') ? answer : null);

  await expect(told(fake)).rejects.toMatchObject({ code });
});
