import { describe, expect, test } from 'vitest';
import type { Issue } from '../../../src/domain/issue.js';
import { type FakeLinear, startFakeLinear } from '../../support/trackers/fake-linear.js';
import { type FakeIssue, type OpenOverrides, openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;

async function readOne(fake: FakeLinear, id: string, overrides: OpenOverrides = {}): Promise<Issue> {
  const [issue] = (await openFake(fake, overrides).issuesByIds([id], NEVER)).issues;
  if (!issue) throw new Error('it is there');
  return issue;
}

describe('an issue of Linear', () => {
  test('has every field that a workflow can use', async () => {
    const fake = await startFakeLinear();
    const blocker = fake.add({ state: 'In Review' });
    const { id } = fake.add({
      ...{ title: 'Fix it', description: '  - [ ] one', priority: 2, state: 'In Progress', assignee: 'bob' },
      ...{ labels: ['Bug', ' API ', 'bug'], blockedBy: [blocker.id] },
    });

    const issue = await readOne(fake, id);

    expect(issue).toEqual({
      id,
      identifier: 'ENG-2',
      title: 'Fix it',
      description: '  - [ ] one',
      priority: 2,
      state: 'In Progress',
      branch_name: 'ann/eng-2',
      url: 'https://linear.app/acme/issue/ENG-2',
      assignee_id: 'user-bob',
      author: { login: 'ann', trusted: true },
      labels: ['bug', 'api'],
      blocked_by: [{ id: blocker.id, identifier: 'ENG-1', state: 'In Review' }],
      comments: [],
      dispatchable: true,
      held_back: null,
      native_ref: null,
      created_at: '2026-01-01T00:02:00.000Z',
      updated_at: '2026-01-01T00:02:00.000Z',
    });
  });

  test.each([
    [0, null],
    [1, 1],
    [4, 4],
    [1.5, null],
  ])('priority %d is %s: 0 means none', async (priority, expected) => {
    const fake = await startFakeLinear();
    const { id } = fake.add({ priority });

    expect((await readOne(fake, id)).priority).toBe(expected);
  });

  test('missing optional fields are null', async () => {
    const fake = await startFakeLinear();
    const { id } = fake.add({ description: null, author: '' });

    const issue = await readOne(fake, id);

    expect(issue).toMatchObject({ description: null, assignee_id: null, priority: null, labels: [], blocked_by: [] });
    expect(issue.author?.login).toBe('somebody whose account is gone');
  });

  test('an issue is found by its identifier in any case, and other spellings find nothing', async () => {
    const fake = await startFakeLinear();
    const { id } = fake.add();
    fake.add();

    const { issues } = await openFake(fake).issuesByIds(['eng-1', id, 'ENG-1', '17', '../x', 'ENG-1e3', ''], NEVER);

    expect(issues.map((issue) => issue.identifier)).toEqual(['ENG-1']);
  });

  test.each<[string, Partial<Omit<FakeIssue, 'id'>>, { archivedAt?: string; trashed?: boolean }]>([
    ['the archive', {}, { archivedAt: '2026-02-01T00:00:00Z' }],
    ['the trash', {}, { trashed: true }],
  ])('an issue in %s is gone', async (_where, fields, extra) => {
    const fake = await startFakeLinear();
    const { id } = fake.add(fields);
    fake.extra.set(id, extra);
    const tracker = openFake(fake);

    const answers = [await tracker.issuesByStates(['Todo'], NEVER), await tracker.issuesByIds([id], NEVER)];

    expect(answers.map(({ issues, unknown }) => [issues, unknown])).toEqual(Array(2).fill([[], []]));
  });

  test('an issue of another project, or of no project, is out of scope', async () => {
    const fake = await startFakeLinear();
    const ids = [fake.add().id, fake.add().id, fake.add().id];
    fake.extra.set(ids[1] ?? '', { project: null });
    fake.extra.set(ids[2] ?? '', { project: 'project-2' });
    const tracker = openFake(fake);

    const answers = [await tracker.issuesByStates(['Todo'], NEVER), await tracker.issuesByIds(ids, NEVER)];

    expect(answers.map(({ issues }) => issues.map(({ id }) => id))).toEqual([[ids[0]], [ids[0]]]);
  });
});

describe('blockers', () => {
  test('only blocking issues count; blocked, duplicate and related issues do not', async () => {
    const fake = await startFakeLinear();
    const [one, two, three] = [fake.add(), fake.add(), fake.add()];
    const { id } = fake.add({ blockedBy: [one.id] });
    fake.extra.set(id, {
      relations: [
        { type: 'related', id: two.id },
        { type: 'duplicate', id: three.id },
      ],
    });

    expect((await readOne(fake, id)).blocked_by.map(({ identifier }) => identifier)).toEqual(['ENG-1']);
    expect((await readOne(fake, one.id)).blocked_by).toEqual([]);
  });

  test('a blocker of another project has its state', async () => {
    const fake = await startFakeLinear();
    const other = fake.add({ state: 'Done' });
    fake.extra.set(other.id, { project: 'project-2' });
    const { id } = fake.add({ blockedBy: [other.id] });

    expect((await readOne(fake, id)).blocked_by).toEqual([{ id: other.id, identifier: 'ENG-1', state: 'Done' }]);
  });

  test.each([{ trashed: true }, { archivedAt: '2026-02-01T00:00:00Z' }])(
    'an archived or deleted blocker does not block: %j',
    async (extra) => {
      const fake = await startFakeLinear();
      const away = fake.add();
      fake.extra.set(away.id, extra);
      const { id } = fake.add({ blockedBy: [away.id] });

      expect((await readOne(fake, id)).blocked_by).toEqual([]);
    },
  );

  test('an issue that was read without its relations is not started', async () => {
    const fake = await startFakeLinear();
    const { id } = fake.add();
    const tracker = openFake(fake);
    await tracker.issuesByIds([id], NEVER);
    const node = { id, identifier: 'ENG-1', title: 'x', state: { name: 'Todo' }, labels: { nodes: [] } };
    const issues = { nodes: [node], pageInfo: { hasNextPage: false } };
    fake.server.fault = () => ({ body: { data: { projects: { nodes: [{ id: 'project-1' }] }, issues } } });

    const [found] = (await tracker.issuesByIds([id], NEVER)).issues;

    expect(found).toMatchObject({ dispatchable: false, held_back: expect.stringContaining('relations') });
  });
});

describe('the assignee', () => {
  const held = async (assignee: string | null, overrides: OpenOverrides) => {
    const fake = await startFakeLinear();
    fake.users.set('bob', { name: 'Bob Builder', email: 'bob@acme.test' });
    const { id } = fake.add({ assignee });
    return (await readOne(fake, id, overrides)).held_back;
  };
  const wants = (assignee: string, env: OpenOverrides['env'] = {}) => ({ provider: { assignee }, env });

  test.each(['user-bob', 'bob', 'BOB', 'bob@acme.test', 'Bob Builder'])('%s is Bob', async (name) => {
    expect(await held('bob', wants(name))).toBeNull();
  });

  test('an unassigned issue, or one of another assignee, is ineligible with a reason', async () => {
    expect(await held('bob', wants('ann'))).toBe('is assigned to bob, not to ann');
    expect(await held(null, wants('ann'))).toBe('is assigned to nobody, not to ann');
  });

  test('me is the owner of the key', async () => {
    expect(await held('baton', wants('me'))).toBeNull();
    expect(await held('bob', wants('ME'))).toBe('is assigned to bob, not to baton');
  });

  test('LINEAR_ASSIGNEE is the default, as in Symphony, and the workflow file wins', async () => {
    const env = { LINEAR_ASSIGNEE: 'me' };

    expect(await held('baton', { env })).toBeNull();
    expect(await held('bob', { env })).toBe('is assigned to bob, not to baton (LINEAR_ASSIGNEE)');
    expect(await held('bob', wants('bob', env))).toBeNull();
    expect(await held('bob', wants('$WHO', { ...env, WHO: 'bob' }))).toBeNull();
  });

  test('LINEAR_ASSIGNEE replaces a named variable that is not set, and without both nothing is read', async () => {
    const fake = await startFakeLinear();

    expect(await held('bob', wants('$UNSET', { LINEAR_ASSIGNEE: 'ann' }))).toBe('is assigned to bob, not to ann');
    expect(() => openFake(fake, wants('$UNSET', {}))).toThrow(/stands for UNSET, which is not set/);
  });
});
