import { expect, test } from 'vitest';
import { type FakeGitlab, type FakeLabelEvent, startFakeGitlab } from '../../support/trackers/fake-gitlab.js';
import { openFake } from '../../support/trackers/fake-tracker.js';

// Under `anyone`, behind a label: only members say yes with it.

const NEVER = new AbortController().signal;
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
const asked = ({ server }: FakeGitlab, part: string) =>
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
])('%s put it on', async (_who, author, events, why) => {
  const { fake, issue } = await scene(author);
  fake.world.labelEvents.set(issue.id, [...events]);

  expect(await heldBack(fake)).toBe(why);
});

test('each of several labels needs its member', async () => {
  const { fake, issue } = await scene('gus');
  issue.labels.push('go');
  fake.world.labelEvents.get(issue.id)?.push({ at: AFTER, label: 'go', by: 'gus' });

  expect(await heldBack(fake, ['baton', 'go'])).toContain('"go"');
});

test('an issue that nobody has touched since a guest wrote it with the label is asked about once', async () => {
  const { fake, issue } = await scene('gus');
  issue.updatedAt = issue.createdAt;
  fake.world.labelEvents.set(issue.id, [{ at: issue.createdAt, label: 'baton', by: 'gus' }]);

  expect(await heldBack(fake)).toBe(UNSAID);
  expect([asked(fake, '/resource_label_events'), asked(fake, '/notes')]).toEqual([1, 0]);
});

test('one that a member wrote so needs no question', async () => {
  const { fake, issue } = await scene('ann');
  issue.updatedAt = issue.createdAt;

  expect(await heldBack(fake)).toBeNull();
  expect([asked(fake, '/resource_label_events'), asked(fake, '/notes')]).toEqual([0, 0]);
});

test('whoever loses his role takes his yes along', async () => {
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
