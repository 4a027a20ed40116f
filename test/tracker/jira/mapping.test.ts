import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/domain/json.js';
import { type FakeJira, startFakeJira } from '../../support/trackers/fake-jira.js';
import { openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;

async function found(jira: FakeJira, id: string, provider: JsonObject = {}) {
  const { issues } = await openFake(jira, { provider }).issuesByIds([id], NEVER);
  return issues[0];
}

async function withFields(fields: object) {
  const jira = await startFakeJira();
  const { id } = jira.add();
  jira.fieldsOf.set(id, fields);
  return found(jira, id);
}

test('an issue has all fields', async () => {
  const jira = await startFakeJira();
  const blocker = jira.add({ state: 'Done' });
  const { id } = jira.add({
    ...{ title: 'Fix it', description: 'First.\nSecond.', state: 'In Progress', labels: ['Baton', 'ui', 'UI'] },
    ...{ author: 'ann', assignee: 'bob', priority: 2, blockedBy: [blocker.id] },
    ...{ createdAt: '2026-03-01T10:00:00.000Z', updatedAt: '2026-03-02T11:30:00.000Z' },
  });

  const issue = await found(jira, id);

  expect(issue).toEqual({
    id,
    identifier: 'ABC-2',
    title: 'Fix it',
    description: 'First.\n\nSecond.',
    priority: 2,
    state: 'In Progress',
    branch_name: null,
    url: `${jira.server.url}/browse/ABC-2`,
    assignee_id: '557058:bob',
    author: { login: 'ann', trusted: true },
    labels: ['baton', 'ui'],
    blocked_by: [{ id: blocker.id, identifier: 'ABC-1', state: 'Done' }],
    comments: [],
    dispatchable: true,
    held_back: null,
    native_ref: null,
    created_at: '2026-03-01T10:00:00.000Z',
    updated_at: '2026-03-02T11:30:00.000Z',
  });
});

test('absent fields are null or empty', async () => {
  const nothing = { description: null, priority: null, assignee: null, creator: null, created: null, updated: 'soon' };

  const issue = await withFields({ ...nothing, labels: null, issuelinks: null });

  expect(issue).toMatchObject({ description: null, priority: null, assignee_id: null, created_at: null });
  expect(issue).toMatchObject({ updated_at: null, labels: [], blocked_by: [], dispatchable: true });
});

test('invalid optional fields count as absent', async () => {
  const odd = { description: 7, priority: 'High', assignee: 'bob', creator: [], labels: 'x', issuelinks: { a: 1 } };

  const issue = await withFields({ ...odd, created: 5, updated: {} });

  expect(issue).toMatchObject({ description: null, priority: null, assignee_id: null, labels: [], blocked_by: [] });
});

test.each([
  ...[['Highest', 1] as const, ['Critical', 1] as const, ['Blocker', 1] as const, [' high ', 2] as const],
  ...[['Major', 2] as const, ['Medium', 3] as const, ['LOW', 4] as const, ['Trivial', 4] as const],
  ...[['Someday', null] as const, ['', null] as const, ['constructor', null] as const],
])('priority %j is %j', async (name, priority) => {
  expect((await withFields({ priority: { id: '9', name } }))?.priority).toBe(priority);
});

describe('blockers', () => {
  const other = { id: '10077', key: 'OTHER-7', fields: { status: { name: 'To Do' } } };
  const told = [{ id: '10077', identifier: 'OTHER-7', state: 'To Do' }];
  const linked = async (link: object) => (await withFields({ issuelinks: [link] }))?.blocked_by;

  test('the issue at the inward end of "is blocked by" blocks, of another project too', async () => {
    const type = { name: 'Blocks', inward: 'is blocked by', outward: 'blocks' };

    expect(await linked({ type, inwardIssue: other })).toEqual(told);
    expect(await linked({ type, outwardIssue: other })).toEqual([]);
  });

  test('a reversed link type is read in reverse, whatever its name', async () => {
    const type = { name: 'Blocks', inward: 'blocks', outward: 'Is Blocked By' };

    expect(await linked({ type, outwardIssue: other })).toEqual(told);
    expect(await linked({ type, inwardIssue: other })).toEqual([]);
  });

  test('a translated link type is recognised by its name', async () => {
    const type = { name: 'blocks', inward: 'wird blockiert von', outward: 'blockiert' };

    expect(await linked({ type, inwardIssue: other })).toEqual(told);
    expect(await linked({ type, outwardIssue: other })).toEqual([]);
  });

  test.each([
    { type: { name: 'Relates', inward: 'relates to', outward: 'relates to' }, inwardIssue: other },
    { type: { name: 'Duplicate', inward: 'is duplicated by', outward: 'duplicates' }, outwardIssue: other },
    { inwardIssue: other },
    { type: 'Blocks', inwardIssue: other },
    { type: { name: 'Blocks' }, inwardIssue: 'OTHER-7' },
  ])('other links do not block: %j', async (link) => {
    expect(await linked(link)).toEqual([]);
  });

  test('a blocker without a state counts', async () => {
    const link = { type: { name: 'Blocks' }, inwardIssue: { id: '5', key: 'X-1' } };

    expect(await linked(link)).toEqual([{ id: '5', identifier: 'X-1', state: null }]);
  });
});

describe('assignee', () => {
  const heldBack = async (assignee: string, wanted: string) => {
    const jira = await startFakeJira();
    jira.emails.set('bob', 'bob@example.org');
    const { id } = jira.add({ assignee });
    const issue = await found(jira, id, { assignee: wanted });
    return [issue?.dispatchable, issue?.held_back];
  };

  test.each(['bob', 'BOB', '557058:bob', 'Bob@Example.org'])('%s is one of the names of the assignee', async (name) => {
    expect(await heldBack('bob', name)).toEqual([true, null]);
  });

  test.each(['me', 'baton@example.org', 'Baton@Example.ORG'])('%s is the account of the token', async (name) => {
    expect(await heldBack('baton', name)).toEqual([true, null]);
  });

  test('an issue of another person is held back with the reason', async () => {
    expect(await heldBack('bob', 'ann')).toEqual([false, 'is assigned to bob, not to ann']);
    expect(await heldBack('bob', 'me')).toEqual([false, 'is assigned to bob, not to baton']);
  });

  test('an unassigned issue is held back, also in lists', async () => {
    const jira = await startFakeJira();
    jira.add({ state: 'To Do' });

    const { issues } = await openFake(jira, { provider: { assignee: 'bob' } }).issuesByStates(['To Do'], NEVER);

    expect(issues).toMatchObject([{ dispatchable: false, held_back: 'is assigned to nobody, not to bob' }]);
  });
});

describe('links to issues', () => {
  test('lead to the configured site', async () => {
    const jira = await startFakeJira();
    const { id } = jira.add();

    expect((await found(jira, id, { site: 'https://team.example.org/' }))?.url).toBe(
      'https://team.example.org/browse/ABC-1',
    );
  });

  test('an invalid key has no link', async () => {
    const jira = await startFakeJira();
    const { id } = jira.add({ identifier: 'ABC-1/../../x' });
    jira.fieldsOf.set(id, { project: { id: '10000' } });

    expect((await found(jira, id))?.url).toBeNull();
  });
});
