import { describe, expect, test } from 'vitest';
import { startFakeJira } from '../../support/trackers/fake-jira.js';
import { openFake } from '../../support/trackers/fake-tracker.js';
import { errorOf } from '../contract/tracker-contract.js';

const NEVER = new AbortController().signal;

describe('the project', () => {
  test('issues of other projects are not listed', async () => {
    const jira = await startFakeJira();
    const own = jira.add();
    jira.add({ identifier: 'OTHER-1' });

    const { issues } = await openFake(jira).issuesByStates(['To Do'], NEVER);

    expect(issues.map(({ id }) => id)).toEqual([own.id]);
  });

  test('a moved issue is gone, although its old id and key still find it', async () => {
    const jira = await startFakeJira();
    const { id } = jira.add({ identifier: 'OTHER-9' });
    jira.oldKeys.set('ABC-1', id);
    jira.add();

    const byId = await openFake(jira).issuesByIds([id, 'ABC-1'], NEVER);

    expect(byId).toMatchObject({ issues: [], unknown: [] });
  });

  test('may be configured by a former key', async () => {
    const jira = await startFakeJira();
    const { id } = jira.add({ identifier: 'NEW-1' });
    jira.projects[0] = { id: '10000', key: 'NEW', name: 'New', projectTypeKey: 'software' };
    // Jira redirects to nothing: it answers under the old key.
    jira.server.fault = ({ url }) =>
      url.pathname.endsWith('/project/ABC') ? { body: { id: '10000', key: 'NEW', name: 'New' } } : null;

    const { issues } = await openFake(jira).issuesByIds([id], NEVER);

    expect(issues.map(({ identifier }) => identifier)).toEqual(['NEW-1']);
  });

  test('a missing project is an error, not an empty board', async () => {
    const jira = await startFakeJira();
    const tracker = openFake(jira, { provider: { project: 'NOPE' } });

    const errors = [
      await errorOf(tracker.issuesByStates(['To Do'], NEVER)),
      await errorOf(tracker.issuesByIds(['10001'], NEVER)),
    ];

    for (const error of errors)
      expect(error).toMatchObject({ code: 'tracker_status', message: expect.stringContaining('no project NOPE') });
  });

  test('a record without a project is an error', async () => {
    const jira = await startFakeJira();
    const { id } = jira.add();
    jira.fieldsOf.set(id, { project: null });

    expect((await errorOf(openFake(jira).issuesByIds([id], NEVER))).code).toBe('tracker_response');
  });
});

describe('by ids', () => {
  test('an issue that Jira cannot load is unknown and reported', async () => {
    const jira = await startFakeJira();
    const [one, two, gone] = [jira.add(), jira.add(), jira.add()];
    jira.failing.add(two.id);
    jira.board.delete(gone.id);

    const { issues, unknown, problems } = await openFake(jira).issuesByIds([one.id, two.id, gone.id], NEVER);

    expect(issues.map(({ id }) => id)).toEqual([one.id]);
    expect(unknown).toEqual([two.id]);
    expect(problems).toEqual([`Issue ${two.id} could not be read from Jira this time: The issue could not be loaded.`]);
  });

  test.each([[{ errorMessage: 'x' }], [{ id: '77', errorMessage: 7 }], ['odd']])(
    'where an error names none of them, any that is missing may be meant: %j',
    async (issueError) => {
      const jira = await startFakeJira();
      jira.server.fault = ({ url }) =>
        url.pathname.endsWith('/bulkfetch') ? { body: { issues: [], issueErrors: [issueError] } } : null;

      const { unknown } = await openFake(jira).issuesByIds(['10001', 'ABC-2'], NEVER);

      expect(unknown).toEqual(['10001', 'ABC-2']);
    },
  );

  test('SEC-20 an error that echoes the credentials is masked', async () => {
    const jira = await startFakeJira();
    jira.server.fault = ({ url, headers }) =>
      url.pathname.endsWith('/bulkfetch')
        ? { body: { issues: [], issueErrors: [{ id: '10001', errorMessage: `${headers.authorization}\u001b[2J` }] } }
        : null;

    const { problems } = await openFake(jira).issuesByIds(['10001'], NEVER);

    expect(problems?.[0]).toContain('Basic ***');
    expect(problems?.[0]).not.toContain('\u001b');
  });

  test('texts that are neither id nor key are not requested', async () => {
    const jira = await startFakeJira();

    const told = await openFake(jira).issuesByIds(['', '../x', '1 OR 2', 'ABC-1"', '9'.repeat(30)], NEVER);

    expect(told).toEqual({ issues: [], unknown: [] });
    expect(jira.server.requests).toEqual([]);
  });

  test('a list of 300,000 invalid records is tracker_response, not a crash', async () => {
    const jira = await startFakeJira();
    const raw = `{"issues": [${'1,'.repeat(299_999)}1]}`;
    jira.server.fault = ({ url }) => (url.pathname.endsWith('/bulkfetch') ? { raw } : null);

    expect((await errorOf(openFake(jira).issuesByIds(['10001'], NEVER))).code).toBe('tracker_response');
  });
});

describe('a configured JQL', () => {
  test('holds back an issue that no longer matches, by an up-to-date search', async () => {
    const jira = await startFakeJira();
    const [fits, stray] = [jira.add({ labels: ['ready'] }), jira.add()];

    const { issues } = await openFake(jira, { provider: { jql: 'labels = ready' } }).issuesByIds(
      [fits.id, stray.id],
      NEVER,
    );

    expect(issues).toMatchObject([
      { id: fits.id, dispatchable: true, held_back: null },
      { id: stray.id, dispatchable: false, held_back: 'no longer matches tracker.provider.jql' },
    ]);
    const [search] = jira.server.requests.filter(({ url }) => url.pathname.endsWith('/search/jql'));
    expect(search?.body.reconcileIssues).toEqual([Number(fits.id), Number(stray.id)]);
  });

  test('is checked for more issues than one up-to-date search allows', async () => {
    const jira = await startFakeJira();
    const ids = Array.from({ length: 120 }, () => jira.add({ labels: ['ready'] }).id);

    const { issues } = await openFake(jira, { provider: { jql: 'labels = ready' } }).issuesByIds(ids, NEVER);

    expect(issues.filter(({ dispatchable }) => dispatchable)).toHaveLength(120);
  });

  test('alone reads all projects', async () => {
    const jira = await startFakeJira();
    const other = jira.add({ identifier: 'OTHER-1', labels: ['ready'] });
    const tracker = openFake(jira, { provider: { project: null, jql: 'labels = ready' } });

    const list = await tracker.issuesByStates(['To Do'], NEVER);
    const byId = await tracker.issuesByIds([other.id], NEVER);

    for (const { issues } of [list, byId]) expect(issues.map(({ id }) => id)).toEqual([other.id]);
    expect(tracker.scope).toBe(`jira:${new URL(jira.server.url).host}`);
  });
});

describe('an expired token', () => {
  test('is an error, not an empty board', async () => {
    const jira = await startFakeJira();
    const { id } = jira.add();
    const tracker = openFake(jira, { env: { JIRA_API_TOKEN: 'an-old-token' } });

    const errors = [
      await errorOf(tracker.issuesByStates(['To Do'], NEVER)),
      await errorOf(tracker.issuesByIds([id], NEVER)),
      await errorOf(tracker.update(id, { comment: 'x' }, NEVER)),
    ];

    for (const error of errors)
      expect(error).toMatchObject({ code: 'tracker_auth', message: expect.stringContaining('JIRA_API_TOKEN') });
  });

  test('is recognised by a header of a good answer', async () => {
    const jira = await startFakeJira();
    const { id } = jira.add();
    const tracker = openFake(jira);
    const [issue] = (await tracker.issuesByIds([id], NEVER)).issues;
    if (!issue) throw new Error('it is there');
    jira.server.fault = () => ({
      headers: { 'x-seraph-loginreason': 'AUTHENTICATION_DENIED' },
      body: { comments: [] },
    });

    await expect(tracker.readComments?.(issue, NEVER)).rejects.toMatchObject({ code: 'tracker_auth' });
  });

  test('without any sign is found by verifying the account', async () => {
    const jira = await startFakeJira();
    const { id } = jira.add();
    const tracker = openFake(jira);
    await tracker.issuesByStates(['To Do'], NEVER);
    jira.server.fault = ({ url }) =>
      url.pathname.endsWith('/myself') ? { status: 401, raw: '' } : { body: { issues: [], isLast: true } };

    expect((await errorOf(tracker.issuesByStates(['To Do'], NEVER))).code).toBe('tracker_auth');
    expect((await errorOf(tracker.issuesByIds([id], NEVER))).code).toBe('tracker_auth');
  });
});
