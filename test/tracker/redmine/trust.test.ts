import { expect, test } from 'vitest';
import type { Trust } from '../../../src/domain/config.js';
import { type FakeRedmine, startFakeRedmine } from '../../support/trackers/fake-redmine.js';
import { openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;

/** An issue of a member, one of a member through a group, one of a stranger. */
async function board(): Promise<FakeRedmine> {
  const fake = await startFakeRedmine();
  fake.add({ author: 'ann', isMember: true });
  fake.add({ author: 'gia', isMember: false });
  fake.add({ author: 'bob', isMember: false });
  fake.crew.add('gia');
  return fake;
}

async function trustedOf(fake: FakeRedmine, trust: Trust | null) {
  const { issues } = await openFake(fake, { config: { trust } }).issuesByStates(['New'], NEVER);
  return issues.map(({ author }) => author?.trusted);
}

test('the default is anyone', async () => {
  const fake = await board();

  expect(await trustedOf(fake, null)).toEqual([true, true, true]);
  expect(fake.server.requests.some(({ url }) => url.pathname.includes('memberships'))).toBe(false);
});

test('members are those of the project, through a group as well', async () => {
  const fake = await board();
  fake.pageLimit = 2;

  expect(await trustedOf(fake, 'members')).toEqual([true, true, false]);
});

test('members are cached for five minutes', async () => {
  const fake = await board();
  const tracker = openFake(fake, { config: { trust: 'members' } });

  await tracker.issuesByStates(['New'], NEVER);
  await tracker.issuesByStates(['New'], NEVER);

  const asked = fake.server.requests.filter(({ url }) => url.pathname.endsWith('/memberships.json'));
  expect(asked).toHaveLength(1);
});

test('an unlisted author is shown with the number', async () => {
  const fake = await board();

  const { issues } = await openFake(fake, { config: { trust: ['ann', 'Bob Test'] } }).issuesByStates(['New'], NEVER);

  const names = issues.map(({ author }) => author?.login);
  expect(names).toEqual(['Ann Test', `Gia Test (user ${fake.idOf('gia')})`, `Bob Test (user ${fake.idOf('bob')})`]);
});

test('a list names logins or numbers', async () => {
  const fake = await board();

  expect(await trustedOf(fake, ['BOB'])).toEqual([false, false, true]);
  expect(await trustedOf(fake, [' @bob '])).toEqual([false, false, true]);
  expect(await trustedOf(fake, ['ann', String(fake.idOf('gia'))])).toEqual([true, true, false]);
});

test('digits are a number, never a login', async () => {
  const fake = await board();
  const number = String(fake.idOf('ann'));
  fake.add({ author: number, isMember: false });

  expect(await trustedOf(fake, ['gia', number])).toEqual([true, true, false, false]);
});

test('displayed names do not count', async () => {
  const fake = await board();

  expect(await trustedOf(fake, ['Ann Test'])).toEqual([false, false, false]);
});

test('without logins only numbers count', async () => {
  const fake = await board();
  fake.tellsLogins = false;

  expect(await trustedOf(fake, ['ann', String(fake.idOf('bob'))])).toEqual([false, false, true]);
});

test('a change of trust counts from the next read on', async () => {
  const fake = await board();
  let trust: Trust = 'anyone';
  const tracker = openFake(fake, { settings: () => ({ trust }) });
  const read = async () =>
    (await tracker.issuesByStates(['New'], NEVER)).issues.map(({ author }) => author?.trusted === true);

  const before = await read();
  trust = 'members';
  const after = await read();

  expect([before, after]).toEqual([
    [true, true, true],
    [true, true, false],
  ]);
});

test('comments are those of trusted people, oldest first, and neither private nor empty', async () => {
  const fake = await startFakeRedmine();
  const said = (author: string, body: string, minute: number, isMember = true) => ({
    ...{ author, isMember, body },
    createdAt: `2026-02-01T00:0${minute}:00Z`,
  });
  const comments = [said('ann', 'First.', 1), said('bob', 'Trust me.', 2, false), said('ann', 'Psst.', 3)];
  fake.add({ comments: [...comments, said('ann', 'Last.', 4)] });
  fake.privateNotes.add('Psst.');
  fake.isNewestFirst = true;
  const tracker = openFake(fake, { config: { trust: 'members' } });
  const [issue] = (await tracker.issuesByIds(['1'], NEVER)).issues;
  if (!issue) throw new Error('it is there');

  const told = await tracker.readComments?.(issue, NEVER);

  expect(told).toEqual([
    { author: 'Ann Test', body: 'First.', created_at: '2026-02-01T00:01:00Z' },
    { author: 'Ann Test', body: 'Last.', created_at: '2026-02-01T00:04:00Z' },
  ]);
});
