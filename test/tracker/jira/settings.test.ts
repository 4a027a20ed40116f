import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/domain/json.js';
import { DEFAULTS, readJiraSettings } from '../../../src/tracker/jira/settings.js';
import { startFakeJira } from '../../support/trackers/fake-jira.js';
import { openFake } from '../../support/trackers/fake-tracker.js';
import { errorOf } from '../contract/tracker-contract.js';

const NEVER = new AbortController().signal;

describe('settings', () => {
  test.each<[JsonObject, string]>([
    [{ endpoint: null }, 'endpoint'],
    [{ email: null }, 'tracker.provider.email'],
    [{ email: 'a:b@example.org' }, 'tracker.provider.email'],
    [{ project: null }, 'tracker.provider.project'],
    [{ project: 'A B' }, 'key of a project'],
    [{ project: '10000' }, 'key of a project'],
    [{ project: 'ABC" OR project = "X' }, 'key of a project'],
    [{ project: 'ABC/../X' }, 'key of a project'],
    [{ auth: 'cookie' }, 'basic or bearer'],
    [{ site: 'javascript:alert(1)' }, 'tracker.provider.site'],
    [{ raw_tool: 'sometimes' }, 'raw_tool'],
    [{ raw_tool: true, project: null, jql: 'labels = a' }, 'cannot be restricted to a JQL'],
  ])('%j is refused with the name of the key', async (provider, names) => {
    const jira = await startFakeJira();

    const open = () => openFake(jira, { provider });

    expect(open).toThrow(expect.objectContaining({ code: 'invalid_tracker_config' }));
    expect(open).toThrow(names);
  });

  test('the key of a project may have any case', async () => {
    const jira = await startFakeJira();

    expect(openFake(jira, { provider: { project: 'abc' } }).scope).toBe(`jira:${new URL(jira.server.url).host}/ABC`);
  });

  test('basic sends e-mail address and token, bearer the token alone', async () => {
    const jira = await startFakeJira();
    const sent = async (provider: JsonObject) => {
      await openFake(jira, { provider })
        .issuesByStates(['To Do'], NEVER)
        .catch(() => null);
      return jira.server.requests.at(-1)?.headers.authorization;
    };

    const basic = (await sent({}))?.replace('Basic ', '') ?? '';

    expect(Buffer.from(basic, 'base64').toString()).toBe(`baton@example.org:${jira.token}`);
    expect(await sent({ auth: 'bearer', email: null })).toBe(`Bearer ${jira.token}`);
  });

  test('the path of an endpoint is kept', async () => {
    const jira = await startFakeJira();
    jira.server.fault = () => ({ status: 500, body: {} });
    const endpoint = `${jira.server.url}/ex/jira/cloud-id/`;

    await errorOf(openFake(jira, { provider: { endpoint } }).issuesByStates(['To Do'], NEVER));

    expect(jira.server.requests[0]?.url.pathname).toBe('/ex/jira/cloud-id/rest/api/3/project/ABC');
  });
});

test('issues behind the gateway have no links without a site', () => {
  const siteOf = (provider: JsonObject) => readJiraSettings(optionsFor(provider)).site;
  const endpoint = 'https://api.atlassian.com/ex/jira/cloud-id';

  expect(siteOf({ endpoint })).toBeNull();
  expect(siteOf({ endpoint, site: 'https://team.example.org/' })).toBe('https://team.example.org');
});

function optionsFor(provider: JsonObject) {
  const all = { email: 'baton@example.org', project: 'ABC', ...provider };
  const config = { kind: 'jira', provider: all, ...DEFAULTS, requiredLabels: [], trust: null, mentions: false };
  return { config, secret: () => 'secret-token', env: {} };
}

describe('inspect', () => {
  const inspecting = async (provider: JsonObject = {}, trust: 'anyone' | 'members' | string[] | null = null) => {
    const jira = await startFakeJira();
    return { jira, inspect: async () => openFake(jira, { provider, config: { trust } }).inspect?.(NEVER) };
  };

  test('reports account, project and states, each name once', async () => {
    const { jira, inspect } = await inspecting();
    jira.statuses.push({ id: '10077', name: 'done' });

    expect(await inspect()).toEqual({
      user: 'baton',
      target: 'project ABC (Alphabet)',
      states: ['To Do', 'In Progress', 'In Review', 'Done'],
      warnings: [],
    });
  });

  test('a missing project is invalid_tracker_config', async () => {
    const { inspect } = await inspecting({ project: 'NOPE' });

    const refused = await errorOf(inspect());

    expect(refused.code).toBe('invalid_tracker_config');
    expect(refused.message).toContain('no project NOPE');
  });

  test("a rejected JQL is invalid_tracker_config with Jira's message", async () => {
    const { inspect } = await inspecting({ jql: 'sprnt = 5' });

    await expect(inspect()).rejects.toMatchObject({
      code: 'invalid_tracker_config',
      message: expect.stringContaining("Field 'sprnt' does not exist"),
    });
  });

  test('a JQL alone is the target', async () => {
    const { inspect } = await inspecting({ project: null, jql: 'labels = a' });

    expect(await inspect()).toMatchObject({ target: 'issues that match (labels = a)', states: expect.any(Array) });
  });

  test.each([
    [null, 'Customers can write issues of project ABC'],
    ['anyone' as const, 'Customers can write issues of project ABC'],
    ['members' as const, 'Customers with an Atlassian account count as members'],
  ])('warns about a service desk with trust %j', async (trust, warning) => {
    const { jira, inspect } = await inspecting({}, trust);
    jira.projects[0] = { id: '10000', key: 'ABC', name: 'Help', projectTypeKey: 'service_desk' };

    expect((await inspect())?.warnings).toEqual([expect.stringContaining(warning)]);
  });

  test('does not warn about a service desk with a trust list', async () => {
    const { jira, inspect } = await inspecting({}, ['557058:ann']);
    jira.projects[0] = { id: '10000', key: 'ABC', name: 'Help', projectTypeKey: 'service_desk' };

    expect((await inspect())?.warnings).toEqual([]);
  });

  test('warns about a former key', async () => {
    const { jira, inspect } = await inspecting();
    jira.server.fault = ({ url }) =>
      url.pathname.endsWith('/project/ABC') ? { body: { id: '10000', key: 'NEW', name: 'New' } } : null;

    expect((await inspect())?.warnings).toEqual([expect.stringContaining('is now NEW')]);
  });

  test.each([[{}], [{ id: 'x', key: 'ABC' }], [{ id: '1' }], [[]], [null]])(
    'an invalid project is tracker_response: %j',
    async (body) => {
      const { jira, inspect } = await inspecting();
      jira.server.fault = ({ url }) => (url.pathname.endsWith('/project/ABC') ? { body } : null);

      await expect(inspect()).rejects.toMatchObject({ code: 'tracker_response' });
    },
  );

  test.each([[[]], [{}], [[{ statuses: 7 }]], [[{ statuses: [{ id: '1); DROP', name: 'x' }] }]], [[{ statuses: [] }]]])(
    'invalid states are tracker_response: %j',
    async (body) => {
      const { jira, inspect } = await inspecting();
      jira.server.fault = ({ url }) => (url.pathname.endsWith('/statuses') ? { body } : null);

      await expect(inspect()).rejects.toMatchObject({ code: 'tracker_response' });
    },
  );
});
