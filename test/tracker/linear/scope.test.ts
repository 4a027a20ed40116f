import { describe, expect, test } from 'vitest';
import { type FakeLinear, startFakeLinear } from '../../support/trackers/fake-linear.js';
import { openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;
const scopesAsked = ({ server }: FakeLinear) =>
  server.requests.filter(({ body }) => body.query.includes('BatonScope')).length;

describe('the project', () => {
  test.each([
    'baton-0123456789ab',
    '0123456789ab',
    'https://linear.app/acme/project/baton-0123456789ab/overview',
    'https://linear.app/acme/project/baton-0123456789ab',
    'renamed-since-0123456789ab',
    '$SLUG',
  ])('is found by %s, and its scope stays the same', async (project_slug) => {
    const fake = await startFakeLinear();
    const { id } = fake.add();
    const tracker = openFake(fake, { provider: { project_slug }, env: { SLUG: '0123456789ab' } });

    const { issues } = await tracker.issuesByStates(['Todo'], NEVER);

    expect(issues.map((issue) => issue.id)).toEqual([id]);
    expect(tracker.scope).toBe(`linear:${new URL(fake.server.url).host}/project/0123456789ab`);
  });

  test.each(['../x', 'a b', 'https://linear.app/acme/team/ENG', 'https://linear.app/acme/project/', 'a/b', 'x"y'])(
    'cannot be called %j',
    async (project_slug) => {
      const fake = await startFakeLinear();

      expect(() => openFake(fake, { provider: { project_slug } })).toThrow(
        expect.objectContaining({ code: 'invalid_tracker_config' }),
      );
    },
  );

  test('that is missing is a configuration error at the start and an access error later, never an empty board', async () => {
    const fake = await startFakeLinear();
    fake.add();
    const tracker = openFake(fake);
    await tracker.issuesByStates(['Todo'], NEVER);
    fake.project = null;

    const late = { code: 'tracker_auth', message: expect.stringContaining('tracker.provider.project_slug') };
    await expect(tracker.issuesByStates(['Todo'], NEVER)).rejects.toMatchObject(late);
    await expect(tracker.issuesByIds([...fake.board.keys()], NEVER)).rejects.toMatchObject(late);
    await expect(tracker.prepare?.(NEVER)).rejects.toMatchObject({ code: 'invalid_tracker_config' });
    await expect(tracker.inspect?.(NEVER)).rejects.toMatchObject({ code: 'invalid_tracker_config' });
  });

  test('a missing project and team are refused with an example of each', async () => {
    const fake = await startFakeLinear();

    const open = () => openFake(fake, { provider: { project_slug: null } });

    expect(open).toThrow(/project_slug: my-project-0123456789ab.*team: ENG/);
  });
});

describe('a team', () => {
  const ofTwoTeams = async () => {
    const fake = await startFakeLinear();
    const ids = [fake.add().id, fake.add().id];
    fake.extra.set(ids[1] ?? '', { team: 'OPS', project: null });
    return { fake, ids };
  };

  test('alone selects its issues of all projects', async () => {
    const { fake, ids } = await ofTwoTeams();
    const tracker = openFake(fake, { provider: { project_slug: null, team: 'ops' } });

    const { issues } = await tracker.issuesByStates(['Todo'], NEVER);

    expect(issues.map(({ id }) => id)).toEqual([ids[1]]);
    expect(tracker.scope).toMatch(/\/team\/OPS$/);
    expect(tracker.states).toEqual(['Todo', 'Waiting', 'Done']);
  });

  test('and a project narrow each other', async () => {
    const { fake, ids } = await ofTwoTeams();
    fake.extra.set(ids[1] ?? '', { team: 'OPS' });
    const tracker = openFake(fake, { provider: { team: 'OPS' } });

    expect((await tracker.issuesByStates(['Todo'], NEVER)).issues.map(({ id }) => id)).toEqual([ids[1]]);
  });

  test('that does not exist is refused, and the error names its key', async () => {
    const fake = await startFakeLinear();
    const tracker = openFake(fake, { provider: { team: 'NOPE' } });

    await expect(tracker.prepare?.(NEVER)).rejects.toMatchObject({
      code: 'invalid_tracker_config',
      message: expect.stringContaining('team NOPE'),
    });
  });
});

describe('states', () => {
  test('are those of all teams of the project, without duplicates, in board order', async () => {
    const fake = await startFakeLinear();
    const types = { Backlog: 'backlog', Todo: 'unstarted', Done: 'completed', Canceled: 'canceled' };
    fake.teams.set('ENG', {
      ...{ id: 'team-eng', key: 'ENG', name: 'Engineering', types },
      states: ['Canceled', 'Done', 'In Progress', 'Todo', 'Backlog', 'In Review'],
    });
    fake.teams.set('OPS', {
      id: 'team-ops',
      key: 'OPS',
      name: 'Operations',
      types,
      states: ['TODO', 'Waiting', 'Done'],
    });

    const told = await openFake(fake).inspect?.(NEVER);

    expect(told?.states.map((name) => name.toLowerCase())).toEqual([
      ...['backlog', 'todo', 'waiting', 'in progress', 'in review', 'done', 'canceled'],
    ]);
  });

  test('are read once an hour, and at once when an issue has an unknown state', async () => {
    const fake = await startFakeLinear();
    const issue = fake.add();
    const tracker = openFake(fake);
    const read = () => tracker.issuesByIds([issue.id], NEVER);
    await read();
    await read();
    expect(scopesAsked(fake)).toBe(1);

    fake.teams.get('ENG')?.states.push('Rework');
    issue.state = 'Rework';
    await read();
    fake.nowMs += 60_000;
    await read();
    expect([scopesAsked(fake), tracker.states.includes('Rework')]).toEqual([2, true]);

    fake.nowMs += 3_599_000;
    await read();
    expect(scopesAsked(fake)).toBe(2);
    fake.nowMs += 1_000;
    await read();
    expect(scopesAsked(fake)).toBe(3);
  });
});

describe('inspect', () => {
  test('reports the account of the key and the scope', async () => {
    const fake = await startFakeLinear();

    const told = await openFake(fake, { provider: { team: 'ENG' } }).inspect?.(NEVER);

    expect(told).toMatchObject({ user: 'baton', target: 'project Baton, team ENG', warnings: [] });
  });

  test('warns when the project does not belong to the team', async () => {
    const fake = await startFakeLinear();
    if (fake.project) fake.project.teams = ['ENG'];

    const told = await openFake(fake, { provider: { team: 'OPS' } }).inspect?.(NEVER);

    expect(told?.warnings).toEqual([expect.stringContaining('does not belong to team OPS')]);
  });
});

describe('the key', () => {
  test('is sent unchanged, and as a bearer token when it is an OAuth token', async () => {
    const fake = await startFakeLinear();
    const sent = async (key: string) => {
      await openFake(fake, { env: { LINEAR_API_KEY: key } }).inspect?.(NEVER);
      return fake.server.requests.at(-1)?.headers.authorization;
    };

    expect(await sent(fake.token)).toBe(fake.token);
    expect(await sent(`lin_oauth_${fake.token}`)).toBe(`Bearer lin_oauth_${fake.token}`);
  });

  test('falls back to LINEAR_API_KEY, as in Symphony, when the named variable is not set', async () => {
    const fake = await startFakeLinear();
    const provider = { api_key: '$MY_KEY' };
    const sent = async (env: { readonly [name: string]: string }) => {
      await openFake(fake, { provider, env }).inspect?.(NEVER);
      return fake.server.requests.at(-1)?.headers.authorization;
    };

    expect(await sent({})).toBe(fake.token);
    expect(await sent({ MY_KEY: fake.token, LINEAR_API_KEY: 'another' })).toBe(fake.token);
    expect(() => openFake(fake, { provider, env: { LINEAR_API_KEY: '' } })).toThrow(/MY_KEY is not set or empty/);
  });

  test('an address without a path gets the path of the API', async () => {
    const fake = await startFakeLinear();

    await openFake(fake, { provider: { endpoint: fake.server.url } }).inspect?.(NEVER);

    expect(fake.server.requests.at(-1)?.url.pathname).toBe('/graphql');
  });
});
