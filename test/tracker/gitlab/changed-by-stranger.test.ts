import { describe, expect, test } from 'vitest';
import type { Trust } from '../../../src/domain/config.js';
import { type FakeGitlab, startFakeGitlab } from '../../support/trackers/fake-gitlab.js';
import { openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;
const BEFORE = '2026-02-01T09:00:00.000Z';
const LABELLED = '2026-02-01T10:00:00.000Z';
const AFTER = '2026-02-01T11:00:00.000Z';
const EDIT = 'changed the description';
const RENAME = 'changed title from **Old** to **New**';
const TICK = 'marked the checklist item **x** as completed';

type Note = readonly [at: string, by: string, body: string];

/** An issue of `author`, opened long ago and touched since. Ann is a member, Eve and Mallory are not. */
async function scene(author: string, notes: readonly Note[] = []) {
  const fake = await startFakeGitlab();
  const issue = fake.add({ author, isMember: author === 'ann', labels: ['Baton'], updatedAt: AFTER });
  fake.world.members.set('ann', { level: 30 }).set('gus', { level: 10 });
  fake.world.labelEvents.set(issue.id, [{ at: LABELLED, label: 'Baton' }]);
  fake.world.activity.set(
    issue.id,
    notes.map(([at, by, body]) => ({ at, by, body })),
  );
  return { fake, issue };
}

async function heldBack(fake: FakeGitlab, trust: Trust | null, requiredLabels: readonly string[] = ['baton']) {
  const tracker = openFake(fake, { config: { trust, requiredLabels: [...requiredLabels] } });
  const [listed] = (await tracker.issuesByStates(['opened'], NEVER)).issues;
  const [byId] = (await tracker.issuesByIds(['1'], NEVER)).issues;
  expect(byId).toEqual(listed);
  expect(listed?.dispatchable).toBe(listed?.held_back === null);
  return listed?.held_back;
}

describe('members: whoever changed title or description last must be one', () => {
  test.each<[string, Note[], string | null]>([
    ['nobody changed it', [], null],
    ['a member did', [[BEFORE, 'ann', EDIT]], null],
    ['a stranger who was assigned once', [[BEFORE, 'eve', EDIT]], 'description that was last changed by eve'],
    ['a guest', [[BEFORE, 'gus', EDIT]], 'description that was last changed by gus, who is no member'],
    ['a stranger renamed it', [[AFTER, 'eve', RENAME]], 'title that was last changed by eve'],
    ['a stranger ticked a box', [[AFTER, 'eve', TICK]], 'description that was last changed by eve'],
    ['in the words of older versions', [[AFTER, 'eve', 'marked the task **x** as incomplete']], 'by eve'],
    [
      'a member after a stranger',
      [
        [BEFORE, 'eve', EDIT],
        [AFTER, 'ann', EDIT],
      ],
      null,
    ],
    [
      'a member, in another part',
      [
        [BEFORE, 'eve', EDIT],
        [AFTER, 'ann', RENAME],
      ],
      'description that was last',
    ],
    ['a stranger, but something else', [[AFTER, 'eve', 'mentioned in merge request !4']], null],
  ])('%s', async (_what, notes, why) => {
    const { fake } = await scene('ann', notes);

    expect(await heldBack(fake, null)).toEqual(why === null ? null : expect.stringContaining(why));
  });

  test('what somebody wrote himself is no note of GitLab', async () => {
    const { fake, issue } = await scene('ann', [[BEFORE, 'eve', EDIT]]);
    const at = { isMember: true, createdAt: AFTER };
    issue.comments.push({ author: 'ann', body: EDIT, ...at });
    // An instance that does not know the filter tells comments, too.
    fake.server.fault = ({ url }) => {
      if (!url.pathname.endsWith('/notes')) return null;
      const note = (username: string, system: boolean, created_at: string) => ({
        system,
        body: EDIT,
        created_at,
        author: { username },
      });
      return { body: [note('ann', false, AFTER), note('eve', true, BEFORE)] };
    };

    expect(await heldBack(fake, 'members')).toContain('eve');
  });

  test('an issue of a stranger, one without the label, and one that nobody touched need no look', async () => {
    const fake = await startFakeGitlab();
    fake.add({ author: 'eve', isMember: false, labels: ['baton'], updatedAt: AFTER });
    fake.add({ updatedAt: AFTER });
    fake.add({ labels: ['baton'] });

    await openFake(fake, { config: { requiredLabels: ['baton'] } }).issuesByStates(['opened'], NEVER);

    expect(fake.server.requests.filter(({ url }) => url.pathname.endsWith('/notes'))).toEqual([]);
  });
});

describe('a list of logins: members who are not on it are strangers', () => {
  test.each<[string, string | null]>([
    ['mallory', null],
    ['MALLORY', null],
    ['ann', 'last changed by ann, who is not trusted'],
  ])('%s changed it', async (by, why) => {
    const { fake } = await scene('mallory', [[AFTER, by, EDIT]]);

    expect(await heldBack(fake, ['mallory'])).toEqual(why === null ? null : expect.stringContaining(why));
  });
});

describe('anyone, behind a label: what a stranger changes after it was put on is not worked on', () => {
  test.each<[string, Note[], boolean]>([
    ['its author edited it before', [[BEFORE, 'mallory', EDIT]], true],
    ['its author edited it after', [[AFTER, 'mallory', EDIT]], false],
    ['its author edited it at the same time', [[LABELLED, 'mallory', EDIT]], false],
    ['its author renamed it after', [[AFTER, 'mallory', RENAME]], false],
    ['a member edited it after', [[AFTER, 'ann', EDIT]], true],
    [
      'its author and then a member edited it',
      [
        [LABELLED, 'mallory', EDIT],
        [AFTER, 'ann', EDIT],
      ],
      false,
    ],
  ])('%s', async (_what, notes, isFree) => {
    const { fake } = await scene('mallory', notes);

    const why = await heldBack(fake, 'anyone');

    expect(why).toEqual(isFree ? null : expect.stringMatching(/mallory, who is no member, after the label "baton"/));
  });

  test('a stranger who was assigned changed the issue of a member', async () => {
    const { fake } = await scene('ann', [[AFTER, 'eve', EDIT]]);

    expect(await heldBack(fake, 'anyone')).toContain('eve');
  });

  test('a label that was taken off and put on again is a new yes', async () => {
    const { fake, issue } = await scene('mallory', [[AFTER, 'mallory', EDIT]]);
    fake.world.labelEvents.set(issue.id, [
      { at: LABELLED, label: 'baton' },
      { at: AFTER, label: 'baton', action: 'remove' },
      { at: '2026-02-01T12:00:00.000Z', label: 'baton' },
    ]);

    expect(await heldBack(fake, 'anyone')).toBeNull();
  });

  test('to take off another label of that name is no yes', async () => {
    const { fake, issue } = await scene('mallory', [[AFTER, 'mallory', EDIT]]);
    fake.world.labelEvents.set(issue.id, [
      { at: LABELLED, label: 'Baton' },
      { at: '2026-02-01T12:00:00.000Z', label: 'BATON', action: 'remove' },
    ]);

    expect(await heldBack(fake, 'anyone')).toContain('mallory');
  });

  test('a label that nobody was seen to put on was there from the beginning', async () => {
    const { fake, issue } = await scene('ann', [[BEFORE, 'eve', EDIT]]);
    fake.world.labelEvents.delete(issue.id);

    expect(await heldBack(fake, 'anyone')).toContain('eve');
  });

  test('where no label is required, the one that makes the state is the yes', async () => {
    const { fake, issue } = await scene('mallory', [[AFTER, 'mallory', EDIT]]);
    issue.state = 'Review';
    fake.world.labelEvents.set(issue.id, [{ at: LABELLED, label: 'Review' }]);
    const tracker = openFake(fake, { provider: { state_labels: ['Review'] }, config: { trust: 'anyone' } });

    const { issues } = await tracker.issuesByStates(['review'], NEVER);

    expect(issues[0]?.held_back).toContain('after the label "Review"');
  });
});
