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
  test('an opened issue is in the state of its label, a closed one is closed whatever it carries', async () => {
    const fake = await board();

    const { issues } = await openFake(fake, { provider: LABELS }).issuesByIds(['1', '2', '3', '4'], NEVER);

    const states = new Map(issues.map(({ id, state }) => [id, state]));
    expect([...'1234'].map((id) => states.get(id))).toEqual(['opened', 'In progress', 'Review', 'closed']);
  });

  test('without state_labels a label is only a label', async () => {
    const { issues } = await openFake(await board()).issuesByIds(['2'], NEVER);

    expect(issues[0]?.state).toBe('opened');
  });

  test('a map gives states other names than their labels', async () => {
    const fake = await startFakeGitlab();
    fake.add({ labels: ['workflow::DOING'] });
    const tracker = openFake(fake, { provider: { state_labels: { Doing: 'workflow::doing' } } });

    const { issues } = await tracker.issuesByStates(['doing'], NEVER);

    expect(issues.map(({ state }) => state)).toEqual(['Doing']);
    expect(tracker.states).toEqual(['opened', 'Doing', 'closed']);
  });

  test('of several labels the last listed wins, and that is told', async () => {
    const fake = await startFakeGitlab();
    fake.add({ state: 'Review', labels: ['In progress'] });
    const tracker = openFake(fake, { provider: LABELS });

    const { issues, problems } = await tracker.issuesByStates(['review'], NEVER);
    const other = await tracker.issuesByStates(['in progress'], NEVER);

    expect(issues.map(({ state }) => state)).toEqual(['Review']);
    expect(problems).toEqual([expect.stringMatching(/GL-1 .*"In progress" and "Review".*counts as "Review"/)]);
    expect(other.issues).toEqual([]);
  });

  test('a state that does not exist is told, and nothing is asked for it alone', async () => {
    const fake = await board();
    const tracker = openFake(fake, { provider: LABELS });

    const alone = await tracker.issuesByStates(['Reveiw'], NEVER);
    const asked = fake.server.requests.length;
    const mixed = await tracker.issuesByStates(['Reveiw', 'opened'], NEVER);

    expect([alone.issues, asked]).toEqual([[], 0]);
    expect(alone.problems).toEqual([expect.stringMatching(/"Reveiw".*Review/)]);
    expect(mixed.issues).toHaveLength(1);
    expect(mixed.problems).toEqual(alone.problems);
  });

  test.each([
    [['opened'], 'opened', ['1']],
    [['Review'], 'opened', ['3']],
    [['closed'], 'closed', ['4']],
    [['opened', 'closed'], 'all', ['1', '4']],
  ])('for %j GitLab is asked for %s', async (states, asked, ids) => {
    const fake = await board();

    const { issues } = await openFake(fake, { provider: LABELS }).issuesByStates(states, NEVER);

    const question = fake.server.requests.find(({ url }) => url.pathname.endsWith('/issues'));
    expect(question?.url.searchParams.get('state')).toBe(asked);
    expect(issues.map(({ id }) => id)).toEqual(ids);
  });
});

describe('settings', () => {
  test.each([
    [['Opened'], 'GitLab knows'],
    [{ Closed: 'x' }, 'GitLab knows'],
    [['Doing', 'doing '], 'twice'],
    [{ Doing: 'x', Done: 'X' }, 'two states'],
    [{ Doing: ' ' }, 'empty'],
    [['a,b'], 'comma'],
    [{ Doing: 7, Done: ['x'] }, 'must be a text'],
    [[['x']], 'list of texts'],
  ])('state_labels %j are refused', async (state_labels, why) => {
    const fake = await startFakeGitlab();

    const open = () => openFake(fake, { provider: { state_labels } as JsonObject });

    expect(open).toThrow(expect.objectContaining({ code: 'invalid_tracker_config' }));
    expect(open).toThrow(why);
  });

  test.each([
    ...['widgets', 'acme/', '/widgets', 'acme//widgets', 'acme/../widgets', 'acme/.', 'acme/w.git', '0', '-1', '1.5'],
    ...['https://gitlab.com/acme/widgets', 'acme org/widgets', 'acme%2Fwidgets', '-acme/widgets', 'acme/w?x', 'a/b#c'],
  ])('project %j is refused', async (project) => {
    const fake = await startFakeGitlab();

    expect(() => openFake(fake, { provider: { project } })).toThrow(
      expect.objectContaining({ code: 'invalid_tracker_config', message: expect.stringContaining('group/project') }),
    );
  });

  test('a project is needed, with an example of one', async () => {
    const fake = await startFakeGitlab();

    expect(() => openFake(fake, { provider: { project: null } })).toThrow('project: group/project');
  });

  test('a raw tool is on, off or for reading', async () => {
    const fake = await startFakeGitlab();

    expect(() => openFake(fake, { provider: { raw_tool: 'sometimes' } })).toThrow('read_only');
  });

  test('the scope is the same however the project is spelled, and another on another instance', async () => {
    const fake = await startFakeGitlab();
    const scopeOf = (project: string, endpoint: string) => openFake(fake, { provider: { project, endpoint } }).scope;

    expect(scopeOf('acme/widgets', 'https://gitlab.com')).toBe('gitlab:gitlab.com/acme/widgets');
    expect(scopeOf('Acme/Widgets', 'https://GitLab.com/api/v4/')).toBe('gitlab:gitlab.com/acme/widgets');
    expect(scopeOf('acme/widgets', 'https://x.example/git')).toBe('gitlab:x.example/git/acme/widgets');
  });
});
