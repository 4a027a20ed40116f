import { describe, expect, test } from 'vitest';
import type { Trust } from '../../../src/domain/config.js';
import { type FakeGithub, startFakeGithub } from '../../support/trackers/fake-github.js';
import { openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;

function said(count: number, isMember: (n: number) => boolean) {
  return Array.from({ length: count }, (_, n) => ({
    ...{ author: isMember(n) ? 'ann' : 'eve', isMember: isMember(n), body: `word ${n}` },
    createdAt: new Date(Date.UTC(2026, 1, 1) + n * 60_000).toISOString(),
  }));
}

async function told(fake: FakeGithub, trust: Trust | null = null) {
  const tracker = openFake(fake, { config: { trust } });
  const [issue] = (await tracker.issuesByIds(['1'], NEVER)).issues;
  if (!issue) throw new Error('it is there');
  const comments = (await tracker.readComments?.(issue, NEVER)) ?? [];
  const pages = fake.server.requests
    .filter(({ url }) => url.pathname.endsWith('/comments'))
    .map(({ url }) => url.searchParams.get('page'));
  return { bodies: comments.map(({ body }) => body), comments, pages };
}

test('the last page of comments is read, and the page before when that has too few', async () => {
  const many = await startFakeGithub();
  many.add({ comments: said(250, () => true) });
  const few = await startFakeGithub();
  few.add({ comments: said(210, () => true) });

  const ofMany = await told(many);
  const ofFew = await told(few);

  expect(ofMany.pages).toEqual(['3']);
  expect([ofMany.bodies[0], ofMany.bodies.at(-1)]).toEqual(['word 220', 'word 249']);
  expect(ofFew.pages).toEqual(['3', '2']);
  expect([ofFew.bodies[0], ofFew.bodies.at(-1), ofFew.bodies.length]).toEqual(['word 180', 'word 209', 30]);
});

test('comments of strangers do not reach a run, except under anyone', async () => {
  const fake = await startFakeGithub();
  fake.add({ comments: said(6, (n) => n % 2 === 0) });

  const members = await told(fake);
  const anyone = await told(fake, 'anyone');

  expect(members.bodies).toEqual(['word 0', 'word 2', 'word 4']);
  expect(anyone.bodies).toHaveLength(6);
});

test('five pages of strangers do not hide earlier comments of members, and at most ten pages are read', async () => {
  const some = await startFakeGithub();
  some.add({ comments: said(550, (n) => n < 20) });
  const many = await startFakeGithub();
  many.add({ comments: said(1_500, (n) => n < 20) });

  expect((await told(some)).bodies).toEqual(Array.from({ length: 20 }, (_, n) => `word ${n}`));
  expect((await told(many)).pages).toHaveLength(10);
});

test('a page of strangers does not hide earlier comments of members', async () => {
  const fake = await startFakeGithub();
  fake.add({ comments: said(150, (n) => n < 20) });

  const { bodies, comments } = await told(fake);

  expect(bodies).toEqual(Array.from({ length: 20 }, (_, n) => `word ${n}`));
  expect(comments[0]).toEqual({ author: 'ann', body: 'word 0', created_at: '2026-02-01T00:00:00.000Z' });
});

describe('a list of logins can leave out members, who can edit comments of others', () => {
  async function edited(editors: { readonly [body: string]: string | null }) {
    const fake = await startFakeGithub();
    fake.add({ comments: said(4, () => true) });
    for (const [body, by] of Object.entries(editors)) fake.world.commentEditors.set(body, by);
    return fake;
  }

  test('a comment with an untrusted or unknown last editor does not reach a run', async () => {
    const fake = await edited({ 'word 0': 'Ann', 'word 1': 'carol', 'word 2': null });

    expect((await told(fake, ['ann'])).bodies).toEqual(['word 0', 'word 3']);
    expect((await told(fake, ['ann', 'carol'])).bodies).toEqual(['word 0', 'word 1', 'word 3']);
  });

  test('a bot on the list is not a person of that name', async () => {
    const fake = await edited({ 'word 0': 'ci', 'word 1': 'ci[bot]' });

    expect((await told(fake, ['ann', 'ci[bot]'])).bodies).toEqual(['word 1', 'word 2', 'word 3']);
  });

  test('the text that belongs to the editor reaches a run', async () => {
    const fake = await edited({});
    fake.server.fault = ({ body }) => {
      const [comment] = fake.board.get('1')?.comments ?? [];
      if (body?.query?.includes('BatonCommentEditors') && comment) comment.body = 'before the edit';
      return null;
    };

    expect((await told(fake, ['ann'])).bodies[0]).toBe('before the edit');
  });

  test.each([
    ['nothing', null],
    ['something else', { __typename: 'Issue', body: 'x', lastEditedAt: null }],
    ['no text', { __typename: 'IssueComment', lastEditedAt: null }],
    ['not whether it was edited', { __typename: 'IssueComment', body: 'x' }],
  ])('a comment with %s for an editor is dropped', async (_what, node) => {
    const fake = await startFakeGithub();
    fake.add({ comments: said(1, () => true) });
    fake.server.fault = ({ body }) =>
      body?.query?.includes('BatonCommentEditors') ? { body: { data: { nodes: [node] } } } : null;

    expect((await told(fake, ['ann'])).bodies).toEqual([]);
  });

  test('thirty editors are one request, and under other trust there is none', async () => {
    const fake = await startFakeGithub();
    fake.add({ comments: said(50, () => true) });
    const questions = () => fake.server.requests.filter(({ body }) => body?.query?.includes('BatonCommentEditors'));

    await told(fake, 'members');
    await told(fake, 'anyone');
    const before = questions().length;
    const { bodies } = await told(fake, ['ann']);

    expect([before, bodies.length, bodies[0]]).toEqual([0, 30, 'word 20']);
    expect(questions().map(({ body }) => body.variables.ids.length)).toEqual([30]);
  });
});

test('an issue without comments costs one request', async () => {
  const fake = await startFakeGithub();
  fake.add();

  const { bodies, pages } = await told(fake);

  expect([bodies, pages]).toEqual([[], []]);
});

test('an answer that is no list of comments is an error', async () => {
  const fake = await startFakeGithub();
  fake.add({ comments: said(1, () => true) });
  fake.server.fault = ({ url }) => (url.pathname.endsWith('/comments') ? { body: {} } : null);

  await expect(told(fake)).rejects.toMatchObject({ code: 'tracker_response' });
});
