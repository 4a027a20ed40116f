import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/domain/json.js';
import { startFakeGitlab } from '../../support/trackers/fake-gitlab.js';
import { openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;
const LABELS: JsonObject = { state_labels: ['In progress', 'Review'] };

async function board() {
  const fake = await startFakeGitlab();
  fake.add({ state: 'opened' });
  fake.add({ state: 'In progress' });
  fake.add({ state: 'Review' });
  fake.add({ state: 'closed', labels: ['Review'] });
  return fake;
}

describe('states of labels', () => {
  test.each([
    [['opened'], 'opened', ['1']],
    [['Review'], 'opened', ['3']],
    [['closed'], 'closed', ['4']],
    [['opened', 'closed'], 'all', ['1', '4']],
  ])('a read of %j lists the issues that are %s', async (states, asked, ids) => {
    const fake = await board();

    const { issues } = await openFake(fake, { provider: LABELS }).issuesByStates(states, NEVER);

    const question = fake.server.requests.find(({ url }) => url.pathname.endsWith('/issues'));
    expect(question?.url.searchParams.get('state')).toBe(asked);
    expect(issues.map(({ id }) => id)).toEqual(ids);
  });
});

describe('settings', () => {
  test.each([
    ...['widgets', 'acme/', '/widgets', 'acme//widgets', 'acme/../widgets', 'acme/.', 'acme/w.git', '0', '-1', '1.5'],
    ...['https://gitlab.com/acme/widgets', 'acme org/widgets', 'acme%2Fwidgets', '-acme/widgets', 'acme/w?x', 'a/b#c'],
  ])('project %j is refused', async (project) => {
    const fake = await startFakeGitlab();

    expect(() => openFake(fake, { provider: { project } })).toThrow(
      expect.objectContaining({ code: 'invalid_tracker_config', message: expect.stringContaining('group/project') }),
    );
  });

  test('a label with a comma is no state, since GitLab separates labels by commas', async () => {
    const fake = await startFakeGitlab();

    expect(() => openFake(fake, { provider: { state_labels: ['a,b'] } })).toThrow('comma');
  });

  test('a missing project is an error with an example', async () => {
    const fake = await startFakeGitlab();

    expect(() => openFake(fake, { provider: { project: null } })).toThrow('project: group/project');
  });

  test('raw_tool must be on, off or read_only', async () => {
    const fake = await startFakeGitlab();

    expect(() => openFake(fake, { provider: { raw_tool: 'sometimes' } })).toThrow('read_only');
  });

  test('the scope ignores the spelling of the project, and differs between instances', async () => {
    const fake = await startFakeGitlab();
    const scopeOf = (project: string, endpoint: string) => openFake(fake, { provider: { project, endpoint } }).scope;

    expect(scopeOf('acme/widgets', 'https://gitlab.com')).toBe('gitlab:gitlab.com/acme/widgets');
    expect(scopeOf('Acme/Widgets', 'https://GitLab.com/api/v4/')).toBe('gitlab:gitlab.com/acme/widgets');
    expect(scopeOf('acme/widgets', 'https://x.example/git')).toBe('gitlab:x.example/git/acme/widgets');
  });
});
