import { describe, expect, test } from 'vitest';
import type { Trust } from '../../../src/domain/config.js';
import { type FakeGitlab, type FakeLabelEvent, startFakeGitlab } from '../../support/trackers/fake-gitlab.js';
import { openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;

function trackerOf(fake: FakeGitlab, trust: Trust | null = null) {
  return openFake(fake, { config: { trust } });
}

function asked({ server }: FakeGitlab, part: string) {
  return server.requests.filter(({ url }) => url.pathname.endsWith(part));
}

describe('SEC-9a by default only members are trusted', () => {
  test.each([
    ['an owner', { level: 50 }, true],
    ['a reporter', { level: 20 }, true],
    ['a planner', { level: 15 }, true],
    ['a guest', { level: 10 }, false],
    ['somebody with minimal access', { level: 5 }, false],
    ['a developer who is blocked', { level: 30, state: 'blocked' }, false],
    ['a developer who is yet to be accepted', { level: 30, membership: 'awaiting' }, false],
  ])('%s', async (_who, member, trusted) => {
    const fake = await startFakeGitlab();
    fake.add({ author: 'Eve', isMember: false });
    fake.world.members.set('eve', member);

    const { issues } = await trackerOf(fake).issuesByStates(['opened'], NEVER);

    expect(issues[0]?.author).toEqual({ login: 'Eve', trusted });
  });

  test.each([[null], [{}], [{ username: 7 }], ['ann']])('the author %j counts as a deleted account', async (author) => {
    const fake = await startFakeGitlab();
    fake.server.fault = ({ url }) =>
      url.pathname.endsWith('/issues') ? { body: [{ iid: 1, title: 'T', state: 'opened', author }] } : null;

    const { issues } = await trackerOf(fake).issuesByIds(['1'], NEVER);

    expect(issues[0]?.author).toEqual({ login: expect.stringContaining('gone'), trusted: false });
  });

  test('inherited and invited members are read to the last page', async () => {
    const fake = await startFakeGitlab();
    for (let n = 0; n < 250; n++) fake.world.members.set(`user-${n}`, { level: 30 });
    fake.add({ author: 'user-249', isMember: false });

    const { issues } = await trackerOf(fake).issuesByStates(['opened'], NEVER);

    expect(issues[0]?.author?.trusted).toBe(true);
    expect(asked(fake, '/members/all')).toHaveLength(3);
  });

  test.each([
    [{ status: 403, body: { message: '403 Forbidden' } }, 'tracker_auth'],
    [{ body: { message: 'hm' } }, 'tracker_response'],
  ])('an unreadable list of members is an error: %j', async (answer, code) => {
    const fake = await startFakeGitlab();
    fake.add();
    fake.server.fault = ({ url }) => (url.pathname.endsWith('/members/all') ? answer : null);

    await expect(trackerOf(fake).issuesByStates(['opened'], NEVER)).rejects.toMatchObject({ code });
  });
});

describe('the list of members', () => {
  async function withClock() {
    const clock = { nowMs: 0 };
    const fake = { ...(await startFakeGitlab()), clock: () => clock.nowMs };
    fake.add({ author: 'ann' });
    fake.add({ author: 'eve', isMember: false });
    const tracker = trackerOf(fake);
    const trusted = async () => {
      const { issues } = await tracker.issuesByStates(['opened'], NEVER);
      return issues.flatMap(({ author }) => (author?.trusted ? author.login : []));
    };
    return { clock, fake, trusted };
  }

  test('is read every five minutes, with or without strangers', async () => {
    const { clock, fake, trusted } = await withClock();

    for (; clock.nowMs < 5 * 60_000; clock.nowMs += 60_000) expect(await trusted()).toEqual(['ann']);

    expect(asked(fake, '/members/all')).toHaveLength(1);
  });

  test('is current after five minutes', async () => {
    const { clock, fake, trusted } = await withClock();
    await trusted();

    fake.world.members.set('ann', { level: 0 }).set('eve', { level: 30 });
    clock.nowMs = 5 * 60_000;

    expect(await trusted()).toEqual(['eve']);
  });

  test('is read at once for a new login', async () => {
    const { fake, trusted } = await withClock();
    await trusted();

    fake.add({ author: 'new', isMember: true });

    expect(await trusted()).toEqual(['ann', 'new']);
    expect(asked(fake, '/members/all')).toHaveLength(2);
  });
});

describe('other trust', () => {
  test('under anyone everyone is trusted, and no list is read', async () => {
    const fake = await startFakeGitlab();
    fake.add({ author: 'eve', isMember: false, updatedAt: '2026-02-01T10:00:00.000Z' });

    const { issues } = await trackerOf(fake, 'anyone').issuesByStates(['opened'], NEVER);

    expect(issues[0]).toMatchObject({ dispatchable: true, author: { login: 'eve', trusted: true } });
    expect([asked(fake, '/members/all'), asked(fake, '/notes')]).toEqual([[], []]);
  });

  test('under a list of logins nothing else counts', async () => {
    const fake = await startFakeGitlab();
    fake.add({ author: 'ann' });
    fake.add({ author: 'Eve', isMember: false });

    const { issues } = await trackerOf(fake, ['eve']).issuesByStates(['opened'], NEVER);

    expect(issues.map(({ author }) => author?.trusted)).toEqual([false, true]);
    expect(asked(fake, '/members/all')).toEqual([]);
  });
});

// Under `anyone`, behind a label: only members say yes with it.

const BEFORE = '2026-02-01T09:00:00.000Z';
const LABELLED = '2026-02-01T10:00:00.000Z';
const AFTER = '2026-02-01T11:00:00.000Z';

/** An issue of `author`, opened long ago and touched since. Ann is a member, Gus a guest. */
async function scene(author: string) {
  const fake = await startFakeGitlab();
  const issue = fake.add({ author, isMember: author === 'ann', labels: ['Baton'], updatedAt: AFTER });
  fake.world.members.set('ann', { level: 30 }).set('gus', { level: 10 });
  fake.world.labelEvents.set(issue.id, [{ at: LABELLED, label: 'Baton' }]);
  return { fake, issue };
}

async function heldBack(fake: FakeGitlab, requiredLabels: readonly string[] = ['baton']) {
  const tracker = openFake(fake, { config: { trust: 'anyone', requiredLabels: [...requiredLabels] } });
  const [listed] = (await tracker.issuesByStates(['opened'], NEVER)).issues;
  const [byId] = (await tracker.issuesByIds(['1'], NEVER)).issues;
  expect(byId).toEqual(listed);
  return listed?.held_back;
}

const UNSAID = 'carries the label "baton", which no member has put on it';
const requestsTo = ({ server }: FakeGitlab, part: string) =>
  server.requests.filter(({ url }) => url.pathname.endsWith(part)).length;

test.each<[string, string, readonly FakeLabelEvent[], string | null]>([
  ['a member', 'mallory', [{ at: LABELLED, label: 'baton', by: 'ann' }], null],
  ['its author, a guest, as he wrote it', 'gus', [{ at: BEFORE, label: 'baton', by: 'gus' }], UNSAID],
  ['somebody who is a member no more', 'ann', [{ at: LABELLED, label: 'baton', by: 'eve' }], UNSAID],
  ['nobody whom GitLab names', 'mallory', [], UNSAID],
  ['nobody whom GitLab names, and its author is a member', 'ann', [], null],
  [
    'a member, after its author',
    'gus',
    [
      { at: BEFORE, label: 'baton', by: 'gus' },
      { at: LABELLED, label: 'baton', by: 'ann' },
    ],
    null,
  ],
  [
    'a stranger, after a member who took it off again',
    'gus',
    [
      { at: BEFORE, label: 'baton', by: 'ann' },
      { at: LABELLED, label: 'baton', by: 'ann', action: 'remove' },
      { at: AFTER, label: 'baton', by: 'gus' },
    ],
    UNSAID,
  ],
])('%s added the label', async (_who, author, events, why) => {
  const { fake, issue } = await scene(author);
  fake.world.labelEvents.set(issue.id, [...events]);

  expect(await heldBack(fake)).toBe(why);
});

test('each of several labels needs a member', async () => {
  const { fake, issue } = await scene('gus');
  issue.labels.push('go');
  fake.world.labelEvents.get(issue.id)?.push({ at: AFTER, label: 'go', by: 'gus' });

  expect(await heldBack(fake, ['baton', 'go'])).toContain('"go"');
});

test('an untouched issue that a guest wrote with the label is one request', async () => {
  const { fake, issue } = await scene('gus');
  issue.updatedAt = issue.createdAt;
  fake.world.labelEvents.set(issue.id, [{ at: issue.createdAt, label: 'baton', by: 'gus' }]);

  expect(await heldBack(fake)).toBe(UNSAID);
  expect([requestsTo(fake, '/resource_label_events'), requestsTo(fake, '/notes')]).toEqual([1, 0]);
});

test('an untouched issue that a member wrote with the label needs no request', async () => {
  const { fake, issue } = await scene('ann');
  issue.updatedAt = issue.createdAt;

  expect(await heldBack(fake)).toBeNull();
  expect([requestsTo(fake, '/resource_label_events'), requestsTo(fake, '/notes')]).toEqual([0, 0]);
});

test('the approval of a person who lost the role does not count', async () => {
  const { fake, issue } = await scene('ann');
  issue.updatedAt = issue.createdAt;
  const clock = { nowMs: 0 };
  const timed = { ...fake, clock: () => clock.nowMs };
  const tracker = openFake(timed, { config: { trust: 'anyone', requiredLabels: ['baton'] } });
  const why = async () => (await tracker.issuesByStates(['opened'], NEVER)).issues[0]?.held_back;
  const before = await why();

  fake.world.members.set('ann', { level: 10 });
  clock.nowMs = 5 * 60_000;

  expect([before, await why()]).toEqual([null, UNSAID]);
});
