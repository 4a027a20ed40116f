import { describe, expect, test } from 'vitest';
import { PROJECT_ID, startFakeGitlab } from '../../support/trackers/fake-gitlab.js';
import { openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;
const PATH = '/api/v4/projects/acme%2Ftools%2Fwidgets';

describe('the path of a project', () => {
  test('is one segment, with its subgroups', async () => {
    const fake = await startFakeGitlab();
    fake.add();

    await openFake(fake).issuesByStates(['opened'], NEVER);

    const paths = new Set(fake.server.requests.map(({ url }) => url.pathname));
    expect(paths).toEqual(new Set([PATH, `${PATH}/issues`, `${PATH}/members/all`, '/api/graphql']));
  });

  test('can be its number, which stays when it is renamed', async () => {
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

describe('an unusable project', () => {
  test('one that the token cannot see: the error names the key and the rights', async () => {
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

  test('one that was renamed: the error has its new name', async () => {
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

  test('one without issues: no issue counts as gone, and the list is an error', async () => {
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

  test('is rejected within ten minutes, without a request at every read', async () => {
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

test('an issue that the token cannot see any more is gone, if its project exists', async () => {
  const fake = await startFakeGitlab();
  const { id } = fake.add();
  fake.world.hidden.add(id);

  const { issues, unknown } = await openFake(fake).issuesByIds([id], NEVER);

  expect([issues, unknown]).toEqual([[], []]);
  expect(fake.server.requests.map(({ url }) => url.pathname)).toContain(PATH);
});

describe('check', () => {
  test('without problems there are no warnings', async () => {
    const fake = await startFakeGitlab();

    const told = await openFake(fake).inspect?.(NEVER);

    const target = 'acme/tools/widgets';
    expect(told).toEqual({ user: 'baton-bot', target, states: ['opened', 'closed'], warnings: [] });
  });

  test('a token that may not read its owner has no login', async () => {
    const fake = await startFakeGitlab();
    fake.world.user = null;

    expect((await openFake(fake).inspect?.(NEVER))?.user).toBeNull();
  });

  test('a warning names each missing label with its key', async () => {
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

  test('an answer that is no project is an error', async () => {
    const fake = await startFakeGitlab();
    fake.server.fault = ({ url }) => (url.pathname === PATH ? { body: { name: 'widgets' } } : null);

    await expect(openFake(fake).inspect?.(NEVER)).rejects.toMatchObject({ code: 'tracker_response' });
  });
});

test('an instance without limits has no rateLimit', async () => {
  const fake = await startFakeGitlab();
  fake.server.fault = ({ url }) => (url.pathname.endsWith('/issues') ? { body: [] } : null);
  const plain = await startFakeGitlab();
  plain.server.fault = ({ url }) =>
    url.pathname.endsWith('/issues') ? { body: [] } : { body: { path_with_namespace: 'acme/tools/widgets' } };

  const told = await openFake(fake).issuesByStates(['opened'], NEVER);
  const silent = await openFake(plain).issuesByStates(['opened'], NEVER);

  expect(told).toHaveProperty('rateLimit');
  expect(silent).not.toHaveProperty('rateLimit');
});

describe('unchanged answers are not sent again', () => {
  async function idle(count: number) {
    const fake = await startFakeGitlab();
    for (let n = 0; n < count; n++) fake.add();
    const tracker = openFake(fake);
    await tracker.issuesByStates(['opened'], NEVER);
    fake.server.requests.length = 0;
    const read = async () => {
      const batch = await tracker.issuesByStates(['opened'], NEVER);
      const asked = fake.server.requests.filter(({ method }) => method === 'GET');
      return { ...batch, tags: asked.map(({ headers }) => typeof headers['if-none-match']) };
    };
    return { fake, read };
  }

  test('an idle poll sends its ETags, returns every page, and costs its requests', async () => {
    const { fake, read } = await idle(150);

    const { issues, tags, rateLimit } = await read();

    expect([issues.length, tags]).toEqual([150, ['string', 'string']]);
    expect(rateLimit?.cost).toBe(fake.server.requests.length);
  });

  test('a changed issue is returned', async () => {
    const { fake, read } = await idle(150);
    const changed = fake.board.get('120');
    if (changed) changed.title = 'Another';

    const { issues } = await read();

    expect(issues.find(({ id }) => id === '120')?.title).toBe('Another');
  });

  test('a new page after an unchanged full page is found', async () => {
    const { fake, read } = await idle(100);
    fake.add();

    expect((await read()).issues).toHaveLength(101);
  });
});

test('a 429 waits for Retry-After, else until the reset, else a minute', async () => {
  const inTenMinutes = Math.floor(Date.now() / 1000) + 600;
  const quota = { 'ratelimit-remaining': '0', 'ratelimit-reset': String(inTenMinutes) };
  const waits: number[] = [];
  for (const headers of [{ 'retry-after': '30', ...quota }, quota, {}]) {
    const fake = await startFakeGitlab();
    fake.server.fault = () => ({ status: 429, headers: { ...headers }, raw: 'Retry later\n' });

    const error = await openFake(fake)
      .issuesByIds(['1'], NEVER)
      .catch((thrown: unknown) => thrown);

    expect(error).toMatchObject({ code: 'tracker_rate_limited' });
    waits.push((error as { details: { resetAtMs: number } }).details.resetAtMs - Date.now());
  }

  expect(waits.map((ms) => Math.round(ms / 10_000) * 10)).toEqual([30, 600, 60]);
});
