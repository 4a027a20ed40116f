import { expect, test } from 'vitest';
import type { JsonObject } from '../../src/domain/json.js';
import { findProviderSecrets } from '../../src/workflow/secrets.js';
import { startFakeGithub } from '../support/trackers/fake-github.js';
import { startFakeGitlab } from '../support/trackers/fake-gitlab.js';
import { startFakeJira } from '../support/trackers/fake-jira.js';
import { type FakeTracker, openFake } from '../support/trackers/fake-tracker.js';

/** The settings of a fake, with some keys renamed to those of OpenAI's Symphony. */
function renamed({ provider }: FakeTracker, names: { readonly [key: string]: string }): JsonObject {
  return Object.fromEntries(Object.entries(provider).map(([key, value]) => [names[key] ?? key, value]));
}

test.each<[string, () => Promise<FakeTracker>, { readonly [key: string]: string }]>([
  ['github', startFakeGithub, { endpoint: 'api_url' }],
  ['gitlab', startFakeGitlab, { endpoint: 'api_url', project: 'project_path' }],
  ['jira', startFakeJira, { endpoint: 'base_url', project: 'project_key' }],
])("%s: the keys of OpenAI's Symphony are names of our own", async (_, start, names) => {
  const fake = await start();
  fake.add();
  const own = openFake(fake);

  const tracker = openFake({ ...fake, provider: renamed(fake, names) });

  expect(tracker.scope).toBe(own.scope);
  const { issues } = await tracker.issuesByStates(tracker.defaults.activeStates, new AbortController().signal);
  expect(issues).toHaveLength(1);
});

test.each<[string, () => Promise<FakeTracker>, string]>([
  ['github', startFakeGithub, 'api_url'],
  ['gitlab', startFakeGitlab, 'api_url'],
  ['jira', startFakeJira, 'base_url'],
])(
  '%s: both names of a setting at once, and an invalid value, are named as they are written',
  async (_, start, alias) => {
    const fake = await start();
    const { endpoint: _endpoint, ...others } = fake.provider;

    expect(() => openFake(fake, { provider: { [alias]: 'https://tracker.example.org' } })).toThrow(
      `tracker.provider.endpoint and tracker.provider.${alias} are the same setting`,
    );
    expect(() => openFake({ ...fake, provider: { ...others, [alias]: 'http://tracker.example.org' } })).toThrow(
      `tracker.provider.${alias} begins with http://`,
    );
  },
);

test('jira: address and account come from JIRA_BASE_URL and JIRA_EMAIL when the file names none', async () => {
  const fake = await startFakeJira();
  const { endpoint, email, ...others } = fake.provider;
  const env = { JIRA_BASE_URL: String(endpoint), JIRA_EMAIL: String(email) };

  const open = (variables: { readonly [name: string]: string }, provider: JsonObject = {}) =>
    openFake({ ...fake, provider: { ...others, ...provider } }, { env: variables });

  expect(open(env).scope).toBe(openFake(fake).scope);
  expect(open(env, { base_url: '$ELSEWHERE', email: '$OTHER' }).scope).toBe(openFake(fake).scope);
  expect(() => open({})).toThrow('jira needs tracker.provider.endpoint');
});

test.each([
  ['the key api_key', { api_key: '$OTHER' }, 'OTHER'],
  ['the variable GITLAB_PAT', {}, 'GITLAB_PAT'],
])('gitlab: the token is also read from %s, which agents do not get', async (_, provider: JsonObject, variable) => {
  const fake = await startFakeGitlab();
  fake.add();
  const tracker = openFake(fake, { provider, env: { GITLAB_TOKEN: '', [variable]: fake.token } });

  const { issues } = await tracker.issuesByStates(tracker.defaults.activeStates, new AbortController().signal);

  expect(issues).toHaveLength(1);
  expect(findProviderSecrets('gitlab', provider).names).toContain(variable);
});
