import { describe, expect, test } from 'vitest';
import { PROJECT_ID, startFakeGitlab } from '../../support/trackers/fake-gitlab.js';
import { openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;
const PATH = '/api/v4/projects/acme%2Ftools%2Fwidgets';

describe('where a project is', () => {
  test('its path is one part of an address, subgroups and all', async () => {
    const fake = await startFakeGitlab();
    fake.add();

    await openFake(fake).issuesByStates(['opened'], NEVER);

    const paths = new Set(fake.server.requests.map(({ url }) => url.pathname));
    expect(paths).toEqual(new Set([PATH, `${PATH}/issues`, `${PATH}/members/all`, '/api/graphql']));
  });

  test('its number is as good as its path, and stays when it is renamed', async () => {
    const fake = await startFakeGitlab();
    const blocker = fake.add();
    fake.add({ blockedBy: [blocker.id] });
    fake.world.renamedTo = 'acme/gizmos';

    const { issues } = await openFake(fake, { provider: { project: PROJECT_ID } }).issuesByStates(['opened'], NEVER);

    expect(issues).toHaveLength(2);
    expect(issues[1]?.blocked_by).toHaveLength(1);
  });

  test.each(['', '/api/v4', '/api/v4/'])('an instance below a path of its host: %j after it', async (more) => {
    const fake = await startFakeGitlab('/dev/gitlab');
    const issue = fake.add();
    const tracker = openFake(fake, { provider: { endpoint: `${fake.server.url}/dev/gitlab${more}` } });

    const { issues } = await tracker.issuesByStates(['opened'], NEVER);
    await tracker.update(issue.id, { state: 'closed' }, NEVER);

    expect([issues.length, issue.state]).toEqual([1, 'closed']);
  });
});

describe('a project that cannot be used', () => {
  test('one that the token does not see names the key and the rights', async () => {
    const fake = await startFakeGitlab();
    const tracker = openFake(fake, { provider: { project: 'acme/secret' } });

    for (const attempt of [() => tracker.issuesByStates(['opened'], NEVER), () => tracker.inspect?.(NEVER)]) {
      await expect(attempt()).rejects.toMatchObject({
        code: 'invalid_tracker_config',
        message: expect.stringMatching(/acme\/secret.*tracker\.provider\.project.*scope api/),
      });
    }
    await expect(tracker.issuesByIds(['1'], NEVER)).rejects.toMatchObject({ code: 'tracker_status' });
  });

  test('one that was renamed says its new name', async () => {
    const fake = await startFakeGitlab();
    fake.add();
    fake.world.renamedTo = 'acme/gizmos';
    const tracker = openFake(fake);

    for (const attempt of [() => tracker.issuesByStates(['opened'], NEVER), () => tracker.inspect?.(NEVER)]) {
      await expect(attempt()).rejects.toMatchObject({
        code: 'invalid_tracker_config',
        message: expect.stringContaining('project: acme/gizmos'),
      });
    }
  });

  test('one whose issues are switched off loses none of them, and is not empty', async () => {
    const fake = await startFakeGitlab();
    const { id } = fake.add();
    const tracker = openFake(fake);
    await tracker.issuesByStates(['opened'], NEVER);
    fake.world.hasIssues = false;

    for (const attempt of [() => tracker.issuesByStates(['opened'], NEVER), () => tracker.issuesByIds([id], NEVER)]) {
      await expect(attempt()).rejects.toMatchObject({
        code: 'invalid_tracker_config',
        message: expect.stringContaining('switched off'),
      });
    }
  });

  test('is found within ten minutes, and not asked for at every read', async () => {
    let nowMs = 0;
    const fake = { ...(await startFakeGitlab()), clock: () => nowMs };
    fake.add();
    const tracker = openFake(fake);
    for (let n = 0; n < 5; n++) await tracker.issuesByStates(['opened'], NEVER);
    const asked = fake.server.requests.filter(({ url }) => url.pathname === PATH).length;

    fake.world.renamedTo = 'acme/gizmos';
    nowMs = 10 * 60_000;

    await expect(tracker.issuesByStates(['opened'], NEVER)).rejects.toMatchObject({ code: 'invalid_tracker_config' });
    expect(asked).toBe(1);
  });
});

test('an issue that the token may not see any more is gone, while its project is there', async () => {
  const fake = await startFakeGitlab();
  const { id } = fake.add();
  fake.world.hidden.add(id);

  const { issues, unknown } = await openFake(fake).issuesByIds([id], NEVER);

  expect([issues, unknown]).toEqual([[], []]);
  expect(fake.server.requests.map(({ url }) => url.pathname)).toContain(PATH);
});

describe('check', () => {
  test('all is well', async () => {
    const fake = await startFakeGitlab();

    const told = await openFake(fake).inspect?.(NEVER);

    const target = 'acme/tools/widgets';
    expect(told).toEqual({ user: 'baton-bot', target, states: ['opened', 'closed'], warnings: [] });
  });

  test('a token that may not say whose it is, is nobody’s', async () => {
    const fake = await startFakeGitlab();
    fake.world.user = null;

    expect((await openFake(fake).inspect?.(NEVER))?.user).toBeNull();
  });

  test('labels that do not exist are named with their key, those that do are not', async () => {
    const fake = await startFakeGitlab();
    fake.world.labels.splice(0, 2, ...Array.from({ length: 130 }, (_, n) => `label ${n}`), 'REVIEW', 'Baton');

    const told = await openFake(fake, {
      provider: { state_labels: ['In progress', 'Review'] },
      config: { requiredLabels: ['baton', 'go'] },
    }).inspect?.(NEVER);

    expect(told?.warnings).toEqual([
      'acme/tools/widgets has no label "In progress", which tracker.provider.state_labels names.',
      'acme/tools/widgets has no label "go", which tracker.required_labels names.',
    ]);
    expect(told?.states).toEqual(['opened', 'In progress', 'Review', 'closed']);
  });

  test.each([
    ['issues are switched off', { hasIssues: false }, ['switched off']],
    ['it is archived', { isArchived: true }, ['archived']],
    ['the token cannot move issues', { level: 10 }, ['below Planner']],
    ['the token is that of a planner', { level: 15 }, []],
    ['GitLab does not tell what the token may do', { level: null }, []],
  ])('%s', async (_what, world, warnings) => {
    const fake = await startFakeGitlab();
    Object.assign(fake.world, world);

    const told = await openFake(fake).inspect?.(NEVER);

    expect(told?.warnings).toEqual(warnings.map((warning) => expect.stringContaining(warning)));
  });

  test('what is no project is no good one', async () => {
    const fake = await startFakeGitlab();
    fake.server.fault = ({ url }) => (url.pathname === PATH ? { body: { name: 'widgets' } } : null);

    await expect(openFake(fake).inspect?.(NEVER)).rejects.toMatchObject({ code: 'tracker_response' });
  });
});
