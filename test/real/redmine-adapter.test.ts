import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { redmineTracker } from '../../src/tracker/redmine/tracker.js';
import { startFakeRedmine } from '../support/trackers/fake-redmine.js';
import { type OpenOverrides, openFake } from '../support/trackers/fake-tracker.js';
import { errorOf } from '../tracker/contract/tracker-contract.js';
import { differences } from './redmine-questions.js';
import { type Login, RedmineServer } from './redmine-server.js';

const NEVER = new AbortController().signal;
const REJECTED = 6;

describe.skipIf(!inject('hasRedmine'))('the adapter and a real Redmine', () => {
  let redmine: RedmineServer;
  beforeAll(async () => {
    redmine = await RedmineServer.start();
  }, 180_000);
  afterAll(() => redmine?.close());

  const open = (overrides: OpenOverrides = {}, login: Login = 'baton') =>
    openFake(
      {
        ...{ kind: 'redmine', entry: redmineTracker, variable: 'REDMINE_API_KEY', token: redmine.keyOf(login) },
        provider: { endpoint: redmine.url, project: 'demo' },
      },
      overrides,
    );
  const addIssue = (subject: string, more: object = {}) => redmine.as('ann').addIssue(subject, more);

  test('every field is read from a real Redmine', async () => {
    const custom_fields = [
      { id: 1, value: ['UI', 'baton'] },
      { id: 2, value: 'some text' },
    ];
    const more = { description: '*Textile* {{ as }} it is', priority_id: 3, category_id: 1, custom_fields };
    const id = await addIssue('One', { ...more, assigned_to_id: redmine.idOf('baton') });
    const blocker = await addIssue('First this');
    await redmine.as('ann').block(blocker, id);

    const { issues, unknown } = await open().issuesByIds([String(id)], NEVER);

    expect(unknown).toEqual([]);
    expect(issues).toEqual([
      {
        ...{ id: String(id), identifier: `RM-${id}`, native_ref: { issue_id: id }, url: `${redmine.url}/issues/${id}` },
        ...{ title: 'One', description: '*Textile* {{ as }} it is', priority: 2, state: 'New', branch_name: null },
        ...{ assignee_id: String(redmine.idOf('baton')), author: { login: 'Ann Test', trusted: true } },
        labels: ['bug', 'front end', 'ui', 'baton'],
        blocked_by: [{ id: String(blocker), identifier: `RM-${blocker}`, state: 'New' }],
        ...{ comments: [], dispatchable: true, held_back: null },
        ...{ created_at: expect.stringMatching(/Z$/), updated_at: expect.stringMatching(/Z$/) },
      },
    ]);
  });

  test('230 issues are read completely, each once, by state and by number, with the same result again', async () => {
    const first = await addIssue('Many');
    await redmine.as('ann').change(first, { status_id: 4 });
    const columns =
      'tracker_id, project_id, subject, status_id, priority_id, author_id, created_on, updated_on, lft, rgt';
    const numbers = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n WHERE i < 229)';
    const copied = `${numbers} SELECT id + i, id + i, ${columns} FROM issues, n WHERE id = ?`;
    redmine.database(`INSERT INTO issues (id, root_id, ${columns}) ${copied}`, first);
    const tracker = open();

    const before = await tracker.issuesByStates(['feedback'], NEVER);
    const after = await tracker.issuesByStates(['feedback'], NEVER);
    const byId = await tracker.issuesByIds([...before.issues.map(({ id }) => id), '999999'], NEVER);

    expect(new Set(before.issues.map(({ id }) => id)).size).toBe(230);
    expect(before.issues).toHaveLength(230);
    expect(after).toEqual(before);
    expect(byId.issues).toHaveLength(230);
    redmine.database('DELETE FROM issues WHERE id > ? AND id < ?', first, first + 230);
  });

  test('other projects are out of reach; include_subprojects includes subprojects, whatever the lists of users show', async () => {
    const ids: string[] = [];
    for (const project_id of ['demo', 'demo-sub', 'other', 'secret'])
      ids.push(String(await addIssue('Where', { project_id })));
    redmine.setting('display_subprojects_issues', '0');
    const found = async (include_subprojects: boolean) => {
      const tracker = open({ provider: { include_subprojects } });
      const { issues } = await tracker.issuesByIds(ids, NEVER);
      const listed = (await tracker.issuesByStates(['New'], NEVER)).issues.filter(({ id }) => ids.includes(id));
      expect(listed.map(({ id }) => id)).toEqual(issues.map(({ id }) => id));
      return issues.map(({ id }) => id);
    };

    const [without, including] = [await found(false), await found(true)];
    redmine.setting('display_subprojects_issues', '1');

    expect(without).toEqual(ids.slice(0, 1));
    expect(including).toEqual(ids.slice(0, 2));
    expect(await found(false)).toEqual(ids.slice(0, 1));
  });

  test('a move or comment that Redmine silently ignores is refused with the allowed values', async () => {
    const id = String(await addIssue('Swallow'));
    const tracker = open();
    const { state } = await tracker.update(id, { state: 'in progress', comment: 'Begun ✓' }, NEVER);

    const move = await errorOf(tracker.update(id, { state: 'Rejected', comment: 'No.' }, NEVER));
    redmine.database(
      "UPDATE roles SET permissions = replace(permissions, '- :add_issue_notes', '- :x') WHERE name = 'Developer'",
    );
    const comment = await errorOf(tracker.update(id, { state: 'Resolved', comment: 'Swallowed.' }, NEVER));
    redmine.database(
      "UPDATE roles SET permissions = replace(permissions, '- :x', '- :add_issue_notes') WHERE name = 'Developer'",
    );

    expect(state).toBe('In Progress');
    expect(move.code).toBe('tracker_refused');
    expect(move.message).toContain('did not move it to "Rejected"');
    expect(move.message).toContain('it may go to: Resolved, Feedback, Closed. The comment was added.');
    expect(comment.code).toBe('tracker_refused');
    expect(comment.message).toContain('baton lacks the right "Add notes"');
    expect(comment.message).toContain('The issue is in "Resolved" now.');
    expect(await redmine.as('ann').notes(Number(id))).toEqual(['Begun ✓', 'No.']);
  });

  test('members are trusted, also through a group, and others are not; a list may name logins', async () => {
    for (const login of ['ann', 'carl', 'eve'] as const) await redmine.as(login).addIssue('Whose', { category_id: 1 });
    const judged = async (trust: 'members' | 'anyone' | string[]) => {
      const { issues } = await open({ config: { trust } }).issuesByStates(['New'], NEVER);
      return issues.filter(({ title }) => title === 'Whose').map(({ author }) => author?.trusted);
    };

    expect(await judged('members')).toEqual([true, true, false]);
    expect(await judged(['@Eve', 'carl'])).toEqual([false, true, true]);
    expect(await judged('anyone')).toEqual([true, true, true]);
  });

  test('assignee me, a login, or a number: others are held back', async () => {
    for (const login of ['baton', 'carl'] as const) await addIssue('For whom', { assigned_to_id: redmine.idOf(login) });
    const free = async (assignee: string | number) => {
      const { issues } = await open({ provider: { assignee } }).issuesByStates(['New'], NEVER);
      return issues.filter(({ title }) => title === 'For whom').map(({ held_back }) => held_back);
    };

    expect(await free('me')).toEqual([null, 'is assigned to Carl Test, not to baton']);
    expect(await free('carl')).toEqual(['is assigned to Baton Test, not to carl', null]);
    expect(await free(redmine.idOf('carl'))).toEqual([expect.any(String), null]);
  });

  test('a wrong key, a disabled REST API, a missing or hidden project, a disabled module: each has its own error', async () => {
    const id = String(await addIssue('Still there'));
    const wrong = { env: { REDMINE_API_KEY: 'f'.repeat(40) } };
    const asked = async (overrides: OpenOverrides) => {
      const tracker = open(overrides);
      return [
        await errorOf(tracker.issuesByStates(['New'], NEVER)),
        await errorOf(tracker.issuesByIds([id], NEVER)),
        await errorOf(tracker.update(id, { comment: 'x' }, NEVER)),
        await errorOf(tracker.inspect?.(NEVER) ?? Promise.resolve()),
      ];
    };
    const missing = await asked({ provider: { project: 'nope' } });
    const hidden = await asked({ provider: { project: 'secret' } });
    redmine.database("UPDATE enabled_modules SET name = 'off' WHERE name = 'issue_tracking' AND project_id = 1");
    const moduleOff = await asked({});
    redmine.database("UPDATE enabled_modules SET name = 'issue_tracking' WHERE name = 'off'");
    const wrongKey = await asked(wrong);
    redmine.setting('rest_api_enabled', '0');
    const restOff = await asked({});
    redmine.setting('rest_api_enabled', '1');

    expect(codes(missing)).toEqual(['tracker_status', 'tracker_status', 'tracker_status', 'invalid_tracker_config']);
    for (const { message } of missing) expect(message).toContain('tracker.provider.project');
    for (const errors of [hidden, moduleOff, wrongKey, restOff])
      expect(new Set(codes(errors))).toEqual(new Set(['tracker_auth']));
    for (const { message } of wrongKey) expect(message).toContain('REDMINE_API_KEY');
    for (const { message } of restOff) expect(message).toContain('Administration → Settings → API');
    expect(hidden.at(-1)?.message).toContain('Make baton a member');
  });

  test('Redmine hides an invisible blocker, and still refuses to close the issue', async () => {
    redmine.setting('cross_project_issue_relations', '1');
    const unseen = await addIssue('Unseen', { project_id: 'secret' });
    const id = await addIssue('Blocked from afar');
    await redmine.as('ann').block(unseen, id);
    const tracker = open();

    const { issues } = await tracker.issuesByIds([String(id)], NEVER);
    const error = await errorOf(tracker.update(String(id), { state: 'Closed' }, NEVER));

    expect(issues[0]?.blocked_by).toEqual([]);
    expect(error.message).toContain('or the issue is blocked');
  });

  test('redmine_api creates, relates and moves issues of the project, and cannot reach another project', async () => {
    const [own, foreign] = [await addIssue('Own'), await addIssue('Foreign', { project_id: 'other' })];
    const tracker = open({ provider: { raw_tool: true } });
    const [issue] = (await tracker.issuesByIds([String(own)], NEVER)).issues;
    const [tool] = tracker.tools();
    if (!issue || !tool) throw new Error('both are there');
    const call = async (method: string, path: string, body?: object) => {
      const { success, text, movedTo } = await tool.call({ method, path, body }, { issue, runId: 'r' });
      return { success, movedTo, told: JSON.parse(text) };
    };

    const made = await call('POST', '/issues.json', { issue: { subject: 'Made by an agent' } });
    const number = made.told.body.issue.id;
    const relation = { issue_to_id: own, relation_type: 'blocks' };
    const related = await call('POST', `/issues/${number}/relations.json`, { relation });
    const swallowed = await call('PUT', `/issues/${own}.json`, { issue: { status_id: REJECTED } });
    const moved = await call('PUT', `/issues/${own}.json`, { issue: { status_id: 2, notes: 'On it.' } });
    const wrong = await call('PUT', `/issues/${own}.json`, { issue: { subject: '' } });
    const list = await call('GET', '/issues.json?status_id=*&limit=100&sort=id');
    const refused = [
      await call('GET', `/issues/${foreign}.json`),
      await call('PUT', `/issues/${foreign}.json`, { issue: { notes: 'x' } }),
      await call('POST', `/issues/${own}/relations.json`, { relation: { ...relation, issue_to_id: foreign } }),
      await call('PUT', `/issues/${own}.json`, { issue: { parent_issue_id: foreign } }),
    ];

    expect([made.told.status, related.told.status, moved.told.status]).toEqual([201, 201, 204]);
    expect([made.movedTo, moved.movedTo]).toEqual([undefined, 'In Progress']);
    expect(swallowed).toMatchObject({
      success: false,
      told: { body: { errors: [expect.stringContaining('left RM-')] } },
    });
    expect(wrong).toMatchObject({ success: false, told: { status: 422 } });
    const listed: { id: number; project: { name: string } }[] = list.told.body.issues;
    expect(listed.map(({ id }) => id)).toEqual(expect.arrayContaining([own, number]));
    expect(new Set(listed.map(({ project }) => project.name))).toEqual(new Set(['Project demo']));
    for (const { success, told } of refused) expect([success, told.error?.code]).toEqual([false, 'refused']);
    expect(await redmine.as('ann').notes(foreign)).toEqual([]);
  });

  test('the fake of the other tests answers as this Redmine does, without additional fields', async () => {
    const usual = { category_id: 1, assigned_to_id: redmine.idOf('baton') };
    const [own, blocked] = [await addIssue('Own', usual), await addIssue('Blocked', usual)];
    const secret = await addIssue('Secret', { project_id: 'secret' });
    const relation = await redmine.as('ann').block(own, blocked);
    const fake = await startFakeRedmine();
    for (const blockedBy of [[], ['1'], []]) fake.add({ blockedBy, assignee: 'baton' });
    fake.projectOf.set('3', 4);

    const wrong = await differences(
      {
        ...{ url: fake.server.url, key: fake.token },
        numbers: { own: 1, blocked: 2, secret: 3, relation: 1, ann: fake.idOf('ann') },
      },
      {
        ...{ url: redmine.url, key: redmine.keyOf('baton') },
        numbers: { own, blocked, secret, relation, ann: redmine.idOf('ann') },
      },
    );

    expect(wrong).toEqual([]);
  });
});

function codes(errors: readonly { readonly code: string }[]): string[] {
  return errors.map(({ code }) => code);
}
