import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/domain/json.js';
import { startFakeGithub } from '../../support/trackers/fake-github.js';
import { openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;
const LABELS: JsonObject = { state_labels: ['In progress', 'Review'] };

async function board() {
  const fake = await startFakeGithub();
  fake.add({ state: 'open' });
  fake.add({ state: 'In progress' });
  fake.add({ state: 'Review' });
  fake.add({ state: 'closed', labels: ['Review'] });
  return fake;
}

async function queryOf(states: readonly string[], requiredLabels: readonly string[] = []) {
  const fake = await board();
  const { issues } = await openFake(fake, { provider: LABELS, config: { requiredLabels } }).issuesByStates(
    states,
    NEVER,
  );
  const asked = fake.server.requests.find(({ url }) => url.pathname.endsWith('/issues'));
  const query = asked?.url.searchParams;
  return { ids: issues.map(({ id }) => id), state: query?.get('state'), labels: query?.get('labels') ?? null };
}

describe('the list is filtered by GitHub', () => {
  test.each([
    [['open'], [], { ids: ['1'], state: 'open', labels: null }],
    [['closed'], [], { ids: ['4'], state: 'closed', labels: null }],
    [['open', 'closed'], [], { ids: ['1', '4'], state: 'all', labels: null }],
    [['Review'], [], { ids: ['3'], state: 'open', labels: 'Review' }],
    [['Review', 'In progress'], [], { ids: ['2', '3'], state: 'open', labels: null }],
    [['Review', 'closed'], [], { ids: ['3', '4'], state: 'all', labels: null }],
    [['open'], ['baton', 'go'], { ids: [], state: 'open', labels: 'baton,go' }],
    [['Review'], ['baton'], { ids: [], state: 'open', labels: 'baton,Review' }],
    [['open'], ['ready, set', 'go'], { ids: [], state: 'open', labels: 'go' }],
    [['open'], ['ready, set'], { ids: ['1'], state: 'open', labels: null }],
  ])('states %j, required labels %j', async (states, required, asked) => {
    expect(await queryOf(states, required)).toEqual(asked);
  });

  test('a new required label is used with the next read', async () => {
    const fake = await startFakeGithub();
    fake.add();
    fake.add({ labels: ['Baton'] });
    let requiredLabels: string[] = [];
    const tracker = openFake(fake, { settings: () => ({ requiredLabels }) });

    const before = await tracker.issuesByStates(['open'], NEVER);
    requiredLabels = ['baton'];
    const after = await tracker.issuesByStates(['open'], NEVER);

    expect(before.issues.map(({ id }) => id)).toEqual(['1', '2']);
    expect(after.issues.map(({ id }) => id)).toEqual(['2']);
  });
});

describe('settings', () => {
  test.each([
    ...['widgets', 'octo-org/', '/widgets', 'octo-org/widgets/issues', 'octo-org/..', 'octo-org/.', 'o/w.git'],
    ...['https://github.com/octo-org/widgets', 'octo org/widgets', 'octo-org/wid%2fgets', '-octo/widgets', 'o/w?x'],
  ])('repo %j is refused', async (repo) => {
    const fake = await startFakeGithub();

    expect(() => openFake(fake, { provider: { repo } })).toThrow(
      expect.objectContaining({ code: 'invalid_tracker_config', message: expect.stringContaining('owner/name') }),
    );
  });

  test("the address of GitHub's pages is rejected", async () => {
    const fake = await startFakeGithub();

    expect(() => openFake(fake, { provider: { endpoint: 'https://github.com' } })).toThrow('https://api.github.com');
  });

  test('GH_TOKEN is used when GITHUB_TOKEN is not set', async () => {
    const fake = await startFakeGithub();
    fake.add();
    const tracker = openFake(fake, { env: { GITHUB_TOKEN: '', GH_TOKEN: fake.token } });

    expect((await tracker.issuesByStates(['open'], NEVER)).issues).toHaveLength(1);
  });

  test('the scope ignores the spelling of the repository, and differs between repositories', async () => {
    const fake = await startFakeGithub();
    const scopeOf = (repo: string) => openFake(fake, { provider: { repo, endpoint: 'https://api.github.com' } }).scope;

    expect(scopeOf('octo-org/widgets')).toBe('github:api.github.com/octo-org/widgets');
    expect(scopeOf('Octo-Org/Widgets')).toBe(scopeOf('octo-org/widgets'));
    expect(scopeOf('octo-org/gadgets')).not.toBe(scopeOf('octo-org/widgets'));
  });
});
