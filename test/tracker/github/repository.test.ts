import { describe, expect, test } from 'vitest';
import type { TrackerConfig } from '../../../src/domain/config.js';
import { startFakeGithub } from '../../support/trackers/fake-github.js';
import { openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;
const REPO_PATH = '/repos/octo-org/widgets';

async function publicRepo() {
  const fake = await startFakeGithub();
  fake.world.isPublic = true;
  fake.add({ labels: ['baton'] });
  return fake;
}

describe('a public repository', () => {
  test('without a required label and a word on trust neither starts nor is read', async () => {
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
  ])('is read where somebody decided: %j', async (config) => {
    const tracker = openFake(await publicRepo(), { config });

    await tracker.prepare?.(NEVER);
    const { issues } = await tracker.issuesByStates(['open'], NEVER);

    expect(issues).toHaveLength(1);
  });

  test('is found as soon as the label is no longer required', async () => {
    let requiredLabels = ['baton'];
    const tracker = openFake(await publicRepo(), { settings: () => ({ requiredLabels }) });
    await tracker.issuesByStates(['open'], NEVER);

    requiredLabels = [];

    await expect(tracker.issuesByStates(['open'], NEVER)).rejects.toMatchObject({ code: 'invalid_tracker_config' });
  });

  test('is found within ten minutes after it was opened, and not asked for at every read', async () => {
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

describe('a repository that cannot be used', () => {
  test('one that the token does not see names the key and the rights', async () => {
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

  test('one that was renamed says its new name, and none of its issues counts as gone', async () => {
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

  test('one whose issues are switched off loses none of them', async () => {
    const fake = await startFakeGithub();
    const { id } = fake.add();
    fake.world.hasIssues = false;

    await expect(openFake(fake).issuesByIds([id], NEVER)).rejects.toMatchObject({
      code: 'invalid_tracker_config',
      message: expect.stringContaining('switched off'),
    });
  });
});

test('an issue that went to another repository is gone, and is not followed', async () => {
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
  test('all is well', async () => {
    const fake = await startFakeGithub();

    const told = await openFake(fake).inspect?.(NEVER);

    expect(told).toEqual({ user: 'baton-bot', target: 'octo-org/widgets', states: ['open', 'closed'], warnings: [] });
  });

  test('the token of an app is nobody', async () => {
    const fake = await startFakeGithub();
    fake.world.user = null;

    expect((await openFake(fake).inspect?.(NEVER))?.user).toBeNull();
  });

  test('labels that do not exist are named with their key, those that do are not', async () => {
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

  test('what is no repository is no good one', async () => {
    const fake = await startFakeGithub();
    fake.server.fault = ({ url }) => (url.pathname === REPO_PATH ? { body: { name: 'widgets' } } : null);

    await expect(openFake(fake).inspect?.(NEVER)).rejects.toMatchObject({ code: 'tracker_response' });
  });
});
