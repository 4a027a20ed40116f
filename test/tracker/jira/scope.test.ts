import { describe, expect, test } from 'vitest';
import { startFakeJira } from '../../support/trackers/fake-jira.js';
import { openFake } from '../../support/trackers/fake-tracker.js';
import { errorOf } from '../contract/tracker-contract.js';

const NEVER = new AbortController().signal;

describe('the project', () => {
  test('issues of others are in no list', async () => {
    const jira = await startFakeJira();
    const own = jira.add();
    jira.add({ identifier: 'OTHER-1' });

    const { issues } = await openFake(jira).issuesByStates(['To Do'], NEVER);

    expect(issues.map(({ id }) => id)).toEqual([own.id]);
  });

  test('an issue that was moved to another one is gone, though it is found under its old id and key', async () => {
    const jira = await startFakeJira();
    const { id } = jira.add({ identifier: 'OTHER-9' });
    jira.oldKeys.set('ABC-1', id);
    jira.add();

    const byId = await openFake(jira).issuesByIds([id, 'ABC-1'], NEVER);

    expect(byId).toMatchObject({ issues: [], unknown: [] });
  });

  test('may be called by a key that it had before', async () => {
    const jira = await startFakeJira();
    const { id } = jira.add({ identifier: 'NEW-1' });
    jira.projects[0] = { id: '10000', key: 'NEW', name: 'New', projectTypeKey: 'software' };
    // Jira redirects to nothing: it answers under the old key.
    jira.server.fault = ({ url }) =>
      url.pathname.endsWith('/project/ABC') ? { body: { id: '10000', key: 'NEW', name: 'New' } } : null;

    const { issues } = await openFake(jira).issuesByIds([id], NEVER);

    expect(issues.map(({ identifier }) => identifier)).toEqual(['NEW-1']);
  });

  test('that is not there is an error, and no empty board', async () => {
    const jira = await startFakeJira();
    const tracker = openFake(jira, { provider: { project: 'NOPE' } });

    const errors = [
      await errorOf(tracker.issuesByStates(['To Do'], NEVER)),
      await errorOf(tracker.issuesByIds(['10001'], NEVER)),
    ];

    for (const error of errors)
      expect(error).toMatchObject({ code: 'tracker_status', message: expect.stringContaining('no project NOPE') });
  });

  test('a record without a project is no proof that it is ours', async () => {
    const jira = await startFakeJira();
    const { id } = jira.add();
    jira.fieldsOf.set(id, { project: null });

    expect((await errorOf(openFake(jira).issuesByIds([id], NEVER))).code).toBe('tracker_response');
  });
});

describe('by ids', () => {
  test('what Jira could not load this time is unknown, not gone, and told', async () => {
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

  test('SEC-20 an error that repeats what we sent does not tell it', async () => {
    const jira = await startFakeJira();
    jira.server.fault = ({ url, headers }) =>
      url.pathname.endsWith('/bulkfetch')
        ? { body: { issues: [], issueErrors: [{ id: '10001', errorMessage: `${headers.authorization}\u001b[2J` }] } }
        : null;

    const { problems } = await openFake(jira).issuesByIds(['10001'], NEVER);

    expect(problems?.[0]).toContain('Basic ***');
    expect(problems?.[0]).not.toContain('\u001b');
  });

  test('what is neither an id nor a key is not asked for', async () => {
    const jira = await startFakeJira();

    const told = await openFake(jira).issuesByIds(['', '../x', '1 OR 2', 'ABC-1"', '9'.repeat(30)], NEVER);

    expect(told).toEqual({ issues: [], unknown: [] });
    expect(jira.server.requests).toEqual([]);
  });

  test('a list of 300,000 records that are none is an error of the tracker, no crash', async () => {
    const jira = await startFakeJira();
    const raw = `{"issues": [${'1,'.repeat(299_999)}1]}`;
    jira.server.fault = ({ url }) => (url.pathname.endsWith('/bulkfetch') ? { raw } : null);

    expect((await errorOf(openFake(jira).issuesByIds(['10001'], NEVER))).code).toBe('tracker_response');
  });
});

describe("a JQL of one's own", () => {
  test('holds back an issue that it no longer fits, and asks the search for what is true now', async () => {
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

  test('holds for more issues than one search can be made sure of', async () => {
    const jira = await startFakeJira();
    const ids = Array.from({ length: 120 }, () => jira.add({ labels: ['ready'] }).id);

    const { issues } = await openFake(jira, { provider: { jql: 'labels = ready' } }).issuesByIds(ids, NEVER);

    expect(issues.filter(({ dispatchable }) => dispatchable)).toHaveLength(120);
  });

  test('alone looks at all projects', async () => {
    const jira = await startFakeJira();
    const other = jira.add({ identifier: 'OTHER-1', labels: ['ready'] });
    const tracker = openFake(jira, { provider: { project: null, jql: 'labels = ready' } });

    const list = await tracker.issuesByStates(['To Do'], NEVER);
    const byId = await tracker.issuesByIds([other.id], NEVER);

    for (const { issues } of [list, byId]) expect(issues.map(({ id }) => id)).toEqual([other.id]);
    expect(tracker.scope).toBe(`jira:${new URL(jira.server.url).host}`);
  });
});

describe('a token that is not good any more', () => {
  test('is no empty board, whatever Jira answers to strangers', async () => {
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

  test('is told by a header of an answer that looks good', async () => {
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

  test('that turns bad between two polls and says so nowhere is found by asking who we are', async () => {
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
