import { schema as published } from '@octokit/graphql-schema';
import { buildSchema, NoDeprecatedCustomRule, parse, specifiedRules, validate } from 'graphql';
import { describe, expect, test } from 'vitest';
import type { TrackerConfig } from '../../../src/domain/config.js';
import { EDITORS_QUERY, HISTORY_QUERY } from '../../../src/tracker/github/trust.js';
import { startFakeGithub } from '../../support/trackers/fake-github.js';
import type { FakeAnswer } from '../../support/trackers/fake-server.js';
import { openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;

describe('the quota', () => {
  test('an idle poll costs nothing and returns all pages', async () => {
    const fake = await startFakeGithub();
    for (let n = 0; n < 150; n++) fake.add();
    const tracker = openFake(fake);
    await tracker.issuesByStates(['open'], NEVER);
    await tracker.issuesByIds(['1', '2'], NEVER);
    const { remaining } = fake.world.quota;

    const list = await tracker.issuesByStates(['open'], NEVER);
    const byIds = await tracker.issuesByIds(['1', '2'], NEVER);

    expect([list.issues.length, byIds.issues.length]).toEqual([150, 2]);
    expect([list.rateLimit?.cost, byIds.rateLimit?.cost]).toEqual([0, 0]);
    expect(fake.world.quota.remaining).toBe(remaining);
  });

  test('a changed issue costs one page', async () => {
    const fake = await startFakeGithub();
    for (let n = 0; n < 250; n++) fake.add();
    const tracker = openFake(fake);
    await tracker.issuesByStates(['open'], NEVER);
    const changed = fake.board.get('120');
    if (changed) changed.title = 'Another';

    const { issues, rateLimit } = await tracker.issuesByStates(['open'], NEVER);

    expect(issues.find(({ id }) => id === '120')?.title).toBe('Another');
    expect(rateLimit?.cost).toBe(1);
  });
});

describe('a 403 can be a rate limit', () => {
  const inAnHour = String(Math.floor(Date.now() / 1000) + 3_600);
  test.each<[string, FakeAnswer, number]>([
    [
      'nothing is left',
      {
        status: 403,
        headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': inAnHour },
        body: { message: 'API rate limit exceeded for user ID 1.' },
      },
      3_600_000,
    ],
    ['it says when to come again', { status: 403, headers: { 'retry-after': '30' }, body: {} }, 30_000],
    [
      'it names the second limit',
      { status: 403, body: { message: 'You have exceeded a secondary rate limit. Please wait a few minutes.' } },
      60_000,
    ],
    [
      'it names the second limit, though much is left of the first',
      {
        status: 403,
        headers: { 'x-ratelimit-remaining': '4000', 'x-ratelimit-reset': inAnHour },
        body: { message: 'You have exceeded a secondary rate limit.' },
      },
      60_000,
    ],
    [
      'it speaks of abuse',
      { status: 403, body: { message: 'You have triggered an abuse detection mechanism.' } },
      60_000,
    ],
  ])('%s', async (_why, answer, waitMs) => {
    const fake = await startFakeGithub();
    fake.server.fault = () => answer;

    const error = await openFake(fake)
      .issuesByIds(['1'], NEVER)
      .catch((thrown: unknown) => thrown);

    expect(error).toMatchObject({ code: 'tracker_rate_limited' });
    const { resetAtMs } = (error as { details: { resetAtMs: number } }).details;
    expect(Math.abs(resetAtMs - Date.now() - waitMs)).toBeLessThan(5_000);
  });

  test('another 403 is about the token, even with headers of the quota', async () => {
    const fake = await startFakeGithub();
    fake.server.fault = () => ({
      status: 403,
      headers: { 'x-ratelimit-remaining': '4999', 'x-ratelimit-reset': inAnHour },
      body: { message: 'Resource not accessible by personal access token' },
    });

    await expect(openFake(fake).issuesByIds(['1'], NEVER)).rejects.toMatchObject({
      code: 'tracker_auth',
      message: expect.stringContaining('not accessible'),
    });
  });
});

test('at most six issues are read at a time, and none after a failure', async () => {
  const fake = await startFakeGithub();
  const ids = Array.from({ length: 40 }, () => fake.add().id);
  fake.server.fault = () => ({ status: 500, body: {} });

  const read = openFake(fake).issuesByIds(ids, NEVER);

  await expect(read).rejects.toMatchObject({ code: 'tracker_status' });
  expect(fake.server.requests.length).toBeLessThanOrEqual(6);
});

const REPO_PATH = '/repos/octo-org/widgets';

async function publicRepo() {
  const fake = await startFakeGithub();
  fake.world.isPublic = true;
  fake.add({ labels: ['baton'] });
  return fake;
}

describe('a public repository', () => {
  test('without a required label and tracker.trust does not start and is not read', async () => {
    const tracker = openFake(await publicRepo());

    for (const attempt of [
      () => tracker.prepare?.(NEVER),
      () => tracker.issuesByStates(['open'], NEVER),
      () => tracker.issuesByStates(['open'], NEVER),
      () => tracker.inspect?.(NEVER),
    ]) {
      await expect(attempt()).rejects.toMatchObject({
        code: 'invalid_tracker_config',
        message: expect.stringMatching(/octo-org\/widgets is public.*tracker\.required_labels.*tracker\.trust/),
      });
    }
  });

  test.each<Partial<TrackerConfig>>([
    { requiredLabels: ['baton'] },
    { trust: 'members' },
    { trust: 'anyone' },
    { trust: ['ann'] },
  ])('is read when the workflow decides: %j', async (config) => {
    const tracker = openFake(await publicRepo(), { config });

    await tracker.prepare?.(NEVER);
    const { issues } = await tracker.issuesByStates(['open'], NEVER);

    expect(issues).toHaveLength(1);
  });

  test('is rejected as soon as no label is required', async () => {
    let requiredLabels = ['baton'];
    const tracker = openFake(await publicRepo(), { settings: () => ({ requiredLabels }) });
    await tracker.issuesByStates(['open'], NEVER);

    requiredLabels = [];

    await expect(tracker.issuesByStates(['open'], NEVER)).rejects.toMatchObject({ code: 'invalid_tracker_config' });
  });

  test('is rejected within ten minutes after it became public, without a request at every read', async () => {
    let nowMs = 0;
    const fake = { ...(await startFakeGithub()), clock: () => nowMs };
    fake.add();
    const tracker = openFake(fake);
    for (let n = 0; n < 5; n++) await tracker.issuesByStates(['open'], NEVER);
    const asked = fake.server.requests.filter(({ url }) => url.pathname === REPO_PATH).length;

    fake.world.isPublic = true;
    nowMs = 10 * 60_000;

    await expect(tracker.issuesByStates(['open'], NEVER)).rejects.toMatchObject({ code: 'invalid_tracker_config' });
    expect(asked).toBe(1);
  });
});

describe('an unusable repository', () => {
  test('one that the token cannot see: the error names the key and the rights', async () => {
    const fake = await startFakeGithub();
    const tracker = openFake(fake, { provider: { repo: 'octo-org/secret' } });

    for (const attempt of [
      () => tracker.prepare?.(NEVER),
      () => tracker.issuesByStates(['open'], NEVER),
      () => tracker.issuesByIds(['1'], NEVER),
      () => tracker.inspect?.(NEVER),
    ]) {
      await expect(attempt()).rejects.toMatchObject({
        code: 'invalid_tracker_config',
        message: expect.stringMatching(/octo-org\/secret.*tracker\.provider\.repo.*token/),
      });
    }
  });

  test('one that was renamed: the error has its new name, and no issue counts as gone', async () => {
    const fake = await startFakeGithub();
    const { id } = fake.add();
    fake.world.renamedTo = 'octo-org/gizmos';
    const tracker = openFake(fake);

    for (const attempt of [
      () => tracker.issuesByStates(['open'], NEVER),
      () => tracker.issuesByIds([id], NEVER),
      () => tracker.inspect?.(NEVER),
    ]) {
      await expect(attempt()).rejects.toMatchObject({
        code: 'invalid_tracker_config',
        message: expect.stringContaining('repo: octo-org/gizmos'),
      });
    }
  });

  test('one without issues: no issue counts as gone', async () => {
    const fake = await startFakeGithub();
    const { id } = fake.add();
    fake.world.hasIssues = false;

    await expect(openFake(fake).issuesByIds([id], NEVER)).rejects.toMatchObject({
      code: 'invalid_tracker_config',
      message: expect.stringContaining('switched off'),
    });
  });
});

test('an issue that was transferred is gone, and its redirect is not followed', async () => {
  const fake = await startFakeGithub();
  const { id } = fake.add();
  fake.world.transferred.add(id);
  const tracker = openFake(fake);

  const { issues, unknown } = await tracker.issuesByIds([id], NEVER);

  expect([issues, unknown]).toEqual([[], []]);
  await expect(tracker.update(id, { comment: 'Hello?' }, NEVER)).rejects.toMatchObject({ code: 'tracker_refused' });
  expect(fake.server.requests.map(({ url }) => url.pathname)).not.toContain('/repositories/999/issues/7');
});

describe('check', () => {
  test('without problems there are no warnings', async () => {
    const fake = await startFakeGithub();

    const told = await openFake(fake).inspect?.(NEVER);

    expect(told).toEqual({ user: 'baton-bot', target: 'octo-org/widgets', states: ['open', 'closed'], warnings: [] });
  });

  test('the token of an app has no login', async () => {
    const fake = await startFakeGithub();
    fake.world.user = null;

    expect((await openFake(fake).inspect?.(NEVER))?.user).toBeNull();
  });

  test('a warning names each missing label with its key', async () => {
    const fake = await startFakeGithub();
    fake.world.labels.push(...Array.from({ length: 130 }, (_, n) => `label ${n}`), 'REVIEW', 'Baton');

    const told = await openFake(fake, {
      provider: { state_labels: ['In progress', 'Review'] },
      config: { requiredLabels: ['baton', 'go'] },
    }).inspect?.(NEVER);

    expect(told?.warnings).toEqual([
      'octo-org/widgets has no label "In progress", which tracker.provider.state_labels names.',
      'octo-org/widgets has no label "go", which tracker.required_labels names.',
    ]);
    expect(told?.states).toEqual(['open', 'In progress', 'Review', 'closed']);
  });

  test.each([
    ['issues are switched off', { hasIssues: false }, 'switched off'],
    ['it is archived', { isArchived: true }, 'archived'],
    ['the token cannot move issues', { permissions: { push: false, triage: false } }, 'cannot move'],
  ])('%s', async (_what, world, warning) => {
    const fake = await startFakeGithub();
    Object.assign(fake.world, world);

    const told = await openFake(fake, { provider: { state_labels: [] } }).inspect?.(NEVER);

    expect(told?.warnings).toEqual([expect.stringContaining(warning)]);
  });

  test('an answer that is no repository is an error', async () => {
    const fake = await startFakeGithub();
    fake.server.fault = ({ url }) => (url.pathname === REPO_PATH ? { body: { name: 'widgets' } } : null);

    await expect(openFake(fake).inspect?.(NEVER)).rejects.toMatchObject({ code: 'tracker_response' });
  });
});

const RULES = [...specifiedRules, NoDeprecatedCustomRule];

test.each([
  ['histories', HISTORY_QUERY],
  ['comments', EDITORS_QUERY],
])("the query for %s fits GitHub's published schema, without deprecated fields", (_of, query) => {
  const schema = buildSchema(published.idl, { assumeValid: true, noLocation: true });

  const faults = validate(schema, parse(query), RULES);
  const wrong = validate(schema, parse(query.replace('lastEditedAt', 'lastEditedOn')), RULES);

  expect(faults).toEqual([]);
  expect(wrong).toHaveLength(1);
});
