import { expect, test } from 'vitest';
import { type FakeRedmine, startFakeRedmine } from '../../support/trackers/fake-redmine.js';
import { STATUSES } from '../../support/trackers/fake-redmine-records.js';
import { openFake } from '../../support/trackers/fake-tracker.js';
import { errorOf } from '../contract/tracker-contract.js';

const NEVER = new AbortController().signal;
const MINUTE_MS = 60_000;

async function withClock() {
  const fake = await startFakeRedmine();
  const clock = { nowMs: 0 };
  const tracker = openFake({ ...fake, clock: () => clock.nowMs });
  const asked = (path: string) => fake.server.requests.filter(({ url }) => url.pathname === path).length;
  return { fake, clock, tracker, asked };
}

function wrongKey(fake: FakeRedmine) {
  return openFake(fake, { env: { REDMINE_API_KEY: 'f'.repeat(40) } });
}

test('statuses are read with the first read, and again after five minutes', async () => {
  const { clock, tracker, asked } = await withClock();

  await tracker.issuesByIds(['1'], NEVER);
  const known = tracker.states;
  clock.nowMs = 4 * MINUTE_MS;
  await tracker.issuesByStates(['New'], NEVER);
  const early = asked('/issue_statuses.json');
  clock.nowMs = 6 * MINUTE_MS;
  await tracker.issuesByStates(['New'], NEVER);

  expect(known).toEqual(STATUSES.map(({ name }) => name));
  expect([early, asked('/issue_statuses.json')]).toEqual([1, 2]);
});

test('a status that is not known is looked for again, once a minute at most', async () => {
  const { clock, tracker, asked } = await withClock();

  for (const seconds of [0, 30, 61, 90]) {
    clock.nowMs = seconds * 1_000;
    await tracker.issuesByStates(['New', 'To Do'], NEVER);
  }

  expect(asked('/issue_statuses.json')).toBe(2);
});

test('a status that was made meanwhile is known as soon as an issue is in it', async () => {
  const { fake, clock, tracker } = await withClock();
  fake.add();
  await tracker.issuesByIds(['1'], NEVER);
  clock.nowMs = 2 * MINUTE_MS;
  const made = { id: 7, name: 'Waiting', is_closed: false };
  STATUSES.push(made);
  fake.add({ state: 'Waiting' });

  await tracker.issuesByIds(['2'], NEVER);
  STATUSES.pop();

  expect(tracker.states).toContain('Waiting');
});

test('states of which Redmine has none are no empty board: they are told, with those that there are', async () => {
  const { fake, tracker } = await withClock();
  fake.add();

  const { issues, problems } = await tracker.issuesByStates(['To Do', 'Doing'], NEVER);

  expect(issues).toEqual([]);
  expect(problems).toEqual([
    expect.stringMatching(/^"To Do" is not a status .*In Progress/),
    expect.stringMatching(/^"Doing" is not a status .*In Progress/),
  ]);
});

test('one misspelt state beside a good one is told, and the good one is read', async () => {
  const { fake, tracker } = await withClock();
  fake.add();

  const { issues, problems } = await tracker.issuesByStates(['New', 'In Progres'], NEVER);

  expect(issues).toHaveLength(1);
  expect(problems).toEqual([expect.stringMatching(/^"In Progres" is not a status .*In Progress/)]);
});

test('a key that was reset is found out with the next list, though strangers may read the project', async () => {
  const { fake, tracker } = await withClock();
  fake.add();
  await tracker.issuesByStates(['New'], NEVER);
  fake.server.fault = (request) => {
    request.headers['x-redmine-api-key'] = 'of yesterday';
    return null;
  };

  expect((await errorOf(tracker.issuesByStates(['New'], NEVER))).code).toBe('tracker_auth');
});

test('a key that Redmine does not know is found out, though it answers strangers, too', async () => {
  const fake = await startFakeRedmine();
  fake.add();

  const error = await errorOf(wrongKey(fake).issuesByStates(['New'], NEVER));

  expect(error).toMatchObject({ code: 'tracker_auth', details: { status: 401 } });
  expect(error.message).toContain('REDMINE_API_KEY');
});

test('a private issue is not gone when the key was revoked', async () => {
  const { fake, tracker } = await withClock();
  const { id } = fake.add();
  fake.hidden.add(id);
  await tracker.issuesByIds([id], NEVER);
  const honest = fake.token;
  fake.server.fault = (request) => {
    if (request.headers['x-redmine-api-key'] === honest) request.headers['x-redmine-api-key'] = 'revoked';
    return null;
  };

  const error = await errorOf(tracker.issuesByIds([id], NEVER));

  expect(error.code).toBe('tracker_auth');
});

test('a disabled REST API is an auth error, and no issue is gone', async () => {
  const { fake, tracker } = await withClock();
  const { id } = fake.add();
  fake.hidden.add(id);
  await tracker.issuesByIds([id], NEVER);
  fake.isRestOff = true;

  const errors = [
    await errorOf(tracker.issuesByIds([id], NEVER)),
    await errorOf(tracker.update(id, { comment: 'x' }, NEVER)),
    await errorOf(openFake(fake).issuesByStates(['New'], NEVER)),
    await errorOf(openFake(fake).inspect?.(NEVER) ?? Promise.resolve()),
  ];

  for (const { code, message } of errors) {
    expect(code).toBe('tracker_auth');
    expect(message).toContain('Administration → Settings → API');
  }
});

test('a missing project is an error of every read with the key to fix', async () => {
  const fake = await startFakeRedmine();
  const tracker = openFake(fake, { provider: { project: 'nope' } });

  for (const read of [tracker.issuesByStates(['New'], NEVER), tracker.issuesByIds(['1'], NEVER)]) {
    const error = await errorOf(read);
    expect(error).toMatchObject({ code: 'tracker_status', details: { status: 404 } });
    expect(error.message).toContain('tracker.provider.project');
  }
});

test('inspect finds a missing and a hidden project', async () => {
  const fake = await startFakeRedmine();
  const inspect = (project: string) => errorOf(openFake(fake, { provider: { project } }).inspect?.(NEVER) as never);

  const [missing, forbidden] = [await inspect('nope'), await inspect('secret')];

  expect(missing.code).toBe('invalid_tracker_config');
  expect(missing.message).toContain('tracker.provider.project');
  expect(forbidden.code).toBe('tracker_auth');
  expect(forbidden.message).toContain('Make baton a member');
});

test('inspect warns of a required label that is neither a category nor a tracker', async () => {
  const fake = await startFakeRedmine();
  fake.categories.add('Ready');
  const warningsFor = async (...requiredLabels: string[]) =>
    (await openFake(fake, { config: { requiredLabels } }).inspect?.(NEVER))?.warnings;

  expect(await warningsFor('ready', 'bug')).toEqual([]);
  expect(await warningsFor('baton')).toEqual([expect.stringContaining('no category "baton"')]);
});

test('inspect reports account, project and states, and warns of an administrator and of a closed project', async () => {
  const fake = await startFakeRedmine();
  const plain = await openFake(fake).inspect?.(NEVER);
  fake.isAdmin = true;
  for (const project of fake.projects) project.status = 5;

  const warned = await openFake(fake, { provider: { include_subprojects: true } }).inspect?.(NEVER);

  const { host } = new URL(fake.server.url);
  expect(plain).toEqual({
    ...{ user: 'baton', target: `project Project demo (demo) at ${host}`, warnings: [] },
    states: STATUSES.map(({ name }) => name),
  });
  expect(warned?.target).toContain('and its subprojects');
  expect(warned?.warnings).toEqual([expect.stringContaining('administrator'), expect.stringContaining('closed')]);
});
