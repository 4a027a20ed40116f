import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/domain/json.js';
import { startFakeGitlab } from '../../support/trackers/fake-gitlab.js';
import { type FakeIssue, openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;

async function mapped(fields: Partial<FakeIssue>, provider: JsonObject = {}) {
  const fake = await startFakeGitlab();
  const { id } = fake.add(fields);
  const [issue] = (await openFake(fake, { provider }).issuesByIds([id], NEVER)).issues;
  if (!issue) throw new Error('it is there');
  return issue;
}

test('every field of an issue has its place', async () => {
  const issue = await mapped({
    title: 'Fix the build',
    description: '  It is red.',
    labels: ['Baton', 'bug'],
    author: 'ann',
    assignee: 'bob',
    priority: 2,
  });

  expect(issue).toEqual({
    id: '1',
    identifier: 'GL-1',
    title: 'Fix the build',
    description: '  It is red.',
    priority: 2,
    state: 'opened',
    branch_name: null,
    url: 'https://gitlab.example.org/acme/tools/widgets/-/issues/1',
    assignee_id: 'bob',
    author: { login: 'ann', trusted: true },
    labels: ['baton', 'bug', 'priority::2'],
    blocked_by: [],
    comments: [],
    dispatchable: true,
    held_back: null,
    native_ref: 'acme/tools/widgets#1',
    created_at: '2026-01-01T00:01:00.000Z',
    updated_at: '2026-01-01T00:01:00.000Z',
  });
});

test.each([
  [['p1'], 1],
  [['P4'], 4],
  [['priority::3'], 3],
  [['priority::p2'], 2],
  [['Priority::High'], 2],
  [['priority/urgent'], 1],
  [['priority: low', 'priority::medium'], 3],
  [['p0', 'p5', 'high', 'priority', 'prio::1', 'priority::constructor'], null],
])('the labels %j are the priority %s', async (labels, priority) => {
  expect((await mapped({ labels })).priority).toBe(priority);
});

test('what is optional and makes no sense is absent', async () => {
  const fake = await startFakeGitlab();
  const odd = { description: 7, labels: 'x', assignees: {}, author: [], created_at: 'soon', web_url: 'javascript:1' };
  fake.server.fault = ({ url }) =>
    url.pathname.endsWith('/issues') ? { body: [{ iid: 1, title: 'T', state: 'opened', ...odd }] } : null;

  const { issues } = await openFake(fake).issuesByIds(['1'], NEVER);

  expect(issues[0]).toMatchObject({ description: null, labels: [], assignee_id: null, created_at: null, url: null });
  expect(issues[0]?.author?.trusted).toBe(false);
});

describe('names of issues', () => {
  test.each(['7', '#7', 'GL-7', 'gl-7', ' 7 '])('%j is issue 7', async (name) => {
    const fake = await startFakeGitlab();
    for (let n = 0; n < 7; n++) fake.add();

    const { issues } = await openFake(fake).issuesByIds([name], NEVER);

    expect(issues.map(({ identifier }) => identifier)).toEqual(['GL-7']);
  });

  test.each(['', '0', 'ABC-1', '../1', '1/notes', '-1', '1e3', '9999999999999999'])(
    '%j names nothing and is not asked for',
    async (name) => {
      const fake = await startFakeGitlab();
      fake.add();

      const { issues, unknown } = await openFake(fake).issuesByIds([name], NEVER);

      expect([issues, unknown]).toEqual([[], []]);
      expect(fake.server.requests).toEqual([]);
    },
  );
});

test.each([
  ['task', true],
  ['incident', true],
  ['test_case', false],
  ['requirement', false],
])('a %s is something to work on: %s', async (type, isWork) => {
  const fake = await startFakeGitlab();
  const { id } = fake.add();
  fake.world.types.set(id, type);
  const tracker = openFake(fake);

  const list = await tracker.issuesByStates(['opened'], NEVER);
  const byId = await tracker.issuesByIds([id], NEVER);

  expect([list.issues.length, byId.issues.length]).toEqual(isWork ? [1, 1] : [0, 0]);
  expect([list.problems, byId.unknown]).toEqual([[], []]);
});

describe('assignee', () => {
  test('"me" needs a token that may say whose it is', async () => {
    const fake = await startFakeGitlab();
    fake.world.user = null;

    const read = openFake(fake, { provider: { assignee: 'me' } }).issuesByIds(['1'], NEVER);

    await expect(read).rejects.toMatchObject({
      code: 'invalid_tracker_config',
      message: expect.stringContaining('tracker.provider.assignee'),
    });
  });
});
