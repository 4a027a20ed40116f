import { expect, test } from 'vitest';
import { type FakeGitlab, startFakeGitlab } from '../../support/trackers/fake-gitlab.js';
import type { FakeAnswer } from '../../support/trackers/fake-server.js';
import { openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;
const LABELS = { state_labels: ['In progress', 'Review'] };

function questions({ server }: FakeGitlab) {
  return server.requests.filter(({ url }) => url.pathname === '/api/graphql');
}

async function blockersOf(fake: FakeGitlab, id: string) {
  const { issues } = await openFake(fake, { provider: LABELS }).issuesByIds([id], NEVER);
  return issues[0]?.blocked_by;
}

test('one in a state of labels is in that state; what is only related or blocked by it is none', async () => {
  const fake = await startFakeGitlab();
  const blocker = fake.add({ state: 'Review' });
  const { id } = fake.add({ blockedBy: [blocker.id] });

  expect(await blockersOf(fake, id)).toEqual([{ id: '1', identifier: 'GL-1', state: 'Review' }]);
});

test('one of another project has its whole name, and its labels are no states', async () => {
  const fake = await startFakeGitlab();
  const { id } = fake.add();
  fake.world.foreignBlockers.set(id, [
    { reference: 'acme/core#1', state: 'OPEN' },
    { reference: 'acme/core#6', state: 'CLOSED' },
  ]);

  expect(await blockersOf(fake, id)).toEqual([
    { id: 'acme/core#1', identifier: 'acme/core#1', state: 'opened' },
    { id: 'acme/core#6', identifier: 'acme/core#6', state: 'closed' },
  ]);
});

test('one that the token may not see blocks all the same', async () => {
  const fake = await startFakeGitlab();
  const closed = fake.add({ state: 'closed' });
  const { id } = fake.add({ blockedBy: [closed.id] });
  fake.world.hiddenBlockers.set(id, 1);

  expect(await blockersOf(fake, id)).toEqual([
    { id: '1', identifier: 'GL-1', state: 'closed' },
    { id: null, identifier: expect.stringContaining('may not see'), state: null },
  ]);
});

test('a hundred and twenty issues are asked about in three questions, and only those that could start', async () => {
  const fake = await startFakeGitlab();
  for (let n = 0; n < 120; n++) fake.add({ labels: ['baton'] });
  for (let n = 0; n < 120; n++) fake.add();
  fake.add({ state: 'closed', labels: ['baton'] });

  await openFake(fake, { config: { requiredLabels: ['baton'] } }).issuesByStates(['opened', 'closed'], NEVER);

  const sizes = questions(fake).map(({ body }) => body.variables.iids.length);
  expect(sizes.sort()).toEqual([20, 50, 50]);
});

test('an edition without blockers is asked once, and that is no problem', async () => {
  const fake = await startFakeGitlab();
  fake.world.missingField = 'blockedByCount';
  const blocker = fake.add();
  fake.add({ blockedBy: [blocker.id] });
  const tracker = openFake(fake);

  for (let n = 0; n < 3; n++) await tracker.issuesByStates(['opened'], NEVER);
  const { issues, problems } = await tracker.issuesByStates(['opened'], NEVER);

  expect(questions(fake)).toHaveLength(1);
  expect(issues.map(({ blocked_by }) => blocked_by)).toEqual([[], []]);
  expect(problems).toEqual([]);
});

test('an instance that lacks another field is asked once, and that is told', async () => {
  const fake = await startFakeGitlab();
  fake.world.missingField = 'workItems';
  fake.add();
  const tracker = openFake(fake);

  await tracker.issuesByStates(['opened'], NEVER);
  const { issues, problems } = await tracker.issuesByStates(['opened'], NEVER);

  expect([issues.length, questions(fake).length]).toEqual([1, 1]);
  expect(problems).toEqual([expect.stringMatching(/what blocks an issue.*"workItems"/)]);
});

test.each<[string, FakeAnswer, string]>([
  ['no project', { body: { data: { project: null } } }, 'tracker_response'],
  ['no list', { body: { data: { project: { workItems: {} } } } }, 'tracker_response'],
  ['an error in a 200', { body: { data: null, errors: [{ message: 'Timeout on validation' }] } }, 'tracker_response'],
  ['no permission', { status: 403, body: { message: 'no' } }, 'tracker_auth'],
  ['no quota', { status: 429, body: {} }, 'tracker_rate_limited'],
])('an answer with %s is no issue without blockers', async (_what, answer, code) => {
  const fake = await startFakeGitlab();
  const { id } = fake.add();
  fake.server.fault = ({ url }) => (url.pathname === '/api/graphql' ? answer : null);

  await expect(blockersOf(fake, id)).rejects.toMatchObject({ code });
});
