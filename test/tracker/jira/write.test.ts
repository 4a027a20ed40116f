import { describe, expect, test } from 'vitest';
import { startFakeJira } from '../../support/trackers/fake-jira.js';
import { openFake } from '../../support/trackers/fake-tracker.js';
import { errorOf } from '../contract/tracker-contract.js';

const NEVER = new AbortController().signal;

async function withIssue() {
  const jira = await startFakeJira();
  const issue = jira.add({ state: 'To Do' });
  const tracker = openFake(jira);
  const update = (change: { state?: string; comment?: string }, id = issue.id) => tracker.update(id, change, NEVER);
  const changes = () =>
    jira.server.requests.filter(({ method }) => method !== 'GET').map(({ url }) => url.pathname.split('/').at(-1));
  return { jira, issue, update, changes };
}

describe('a move', () => {
  test('takes a transition to the state, whatever its name', async () => {
    const { jira, issue, update } = await withIssue();

    const { state } = await update({ state: ' in review ' });

    expect([state, issue.state]).toEqual(['In Review', 'In Review']);
    expect(jira.server.requests.at(-1)?.body).toEqual({ transition: { id: '31' } });
  });

  test('to the current state sends nothing', async () => {
    const { update, changes } = await withIssue();

    expect(await update({ state: 'TO DO' })).toEqual({ state: 'To Do' });
    expect(changes()).toEqual([]);
  });

  test('without a transition is refused with the possible ones, before anything is written', async () => {
    const { jira, issue, update, changes } = await withIssue();
    jira.transitions.set('To Do', ['In Progress', 'In Review']);

    const refused = await errorOf(update({ state: 'Done', comment: 'Finished.' }));

    expect(refused.code).toBe('tracker_refused');
    expect(refused.message).toBe(
      'The workflow of ABC-1 has no transition from "To Do" to "Done". From there it can go to: In Progress, In Review.',
    );
    expect([changes(), issue.comments]).toEqual([[], []]);
  });

  test('from a state without transitions is refused', async () => {
    const { jira, update } = await withIssue();
    jira.transitions.set('To Do', []);

    expect((await errorOf(update({ state: 'Done' }))).message).toContain('It can go to no other state from there.');
  });

  test("that needs a field is refused with Jira's message, and the comment is not repeated", async () => {
    const { jira, issue, update, changes } = await withIssue();
    jira.demanding.add('Done');

    const refused = await errorOf(update({ state: 'Done', comment: 'Finished.' }));

    expect(refused.code).toBe('tracker_refused');
    expect(refused.message).toMatch(/^The comment is written, do not repeat it; .*Resolution is required\.$/);
    expect([issue.state, issue.comments.length, changes()]).toEqual(['To Do', 1, ['comment', 'transitions']]);
  });

  test('prefers a transition without a screen', async () => {
    const { jira, issue, update } = await withIssue();
    const done = { id: '10002', name: 'Done' };
    jira.server.fault = ({ method, url }) =>
      method === 'GET' && url.pathname.endsWith('/transitions')
        ? {
            body: {
              transitions: [
                { id: '90', to: done, hasScreen: true },
                { id: '41', to: done, hasScreen: false },
              ],
            },
          }
        : null;

    await update({ state: 'Done' });

    expect(issue.state).toBe('Done');
    expect(jira.server.requests.at(-1)?.body).toEqual({ transition: { id: '41' } });
  });

  test('ignores unavailable transitions', async () => {
    const { jira, update } = await withIssue();
    const done = { id: '10002', name: 'Done' };
    jira.server.fault = ({ url }) =>
      url.pathname.endsWith('/transitions')
        ? { body: { transitions: [{ id: '41', to: done, isAvailable: false }, { to: done }, null, { id: '1' }] } }
        : null;

    expect((await errorOf(update({ state: 'Done' }))).code).toBe('tracker_refused');
  });

  test("a conflict is refused with Jira's message", async () => {
    const { jira, update } = await withIssue();
    jira.server.fault = ({ method, url }) =>
      method === 'POST' && url.pathname.endsWith('/transitions')
        ? { status: 409, body: { errorMessages: ['Busy'] } }
        : null;

    expect(await errorOf(update({ state: 'Done' }))).toMatchObject({
      code: 'tracker_refused',
      message: 'Jira did not move ABC-1 from "To Do" to "Done". Busy',
    });
  });

  test('an invalid list of transitions is tracker_response', async () => {
    const { jira, update } = await withIssue();
    jira.server.fault = ({ url }) => (url.pathname.endsWith('/transitions') ? { body: {} } : null);

    expect((await errorOf(update({ state: 'Done' }))).code).toBe('tracker_response');
  });
});

describe('a comment', () => {
  test('is sent as an ADF document', async () => {
    const { jira, update } = await withIssue();

    await update({ comment: '# Done\n- **a**' });

    const { body } = jira.server.requests.at(-1)?.body ?? {};
    expect(body).toMatchObject({ version: 1, type: 'doc', content: [{ type: 'heading' }, { type: 'bulletList' }] });
  });

  test('that Jira rejects is refused, and nothing is moved', async () => {
    const { jira, issue, update } = await withIssue();
    jira.server.fault = ({ method, url }) =>
      method === 'POST' && url.pathname.endsWith('/comment')
        ? { status: 413, body: { errorMessages: ['The comment is too long.'] } }
        : null;

    const refused = await errorOf(update({ state: 'Done', comment: 'x' }));

    expect(refused).toMatchObject({ code: 'tracker_refused', message: expect.stringContaining('too long') });
    expect(issue.state).toBe('To Do');
  });
});

describe('an issue outside the project', () => {
  test('is refused by its id and by its old key', async () => {
    const { jira, issue, update, changes } = await withIssue();
    jira.board.set(issue.id, { ...issue, identifier: 'OTHER-3' });
    jira.oldKeys.set('ABC-1', issue.id);

    for (const id of [issue.id, 'ABC-1']) {
      const refused = await errorOf(update({ state: 'Done', comment: 'x' }, id));
      expect(refused.code).toBe('tracker_refused');
      expect(refused.message).toContain('not in project ABC any more');
    }
    expect(changes()).toEqual([]);
  });

  test.each(['', '..', '1/transitions', '../project/ABC', 'ABC-1?x', 'ABC'])('%j is not an issue', async (id) => {
    const { update, changes } = await withIssue();

    expect((await errorOf(update({ comment: 'x' }, id))).code).toBe('tracker_refused');
    expect(changes()).toEqual([]);
  });

  test.each([[{}], [{ key: 'ABC-1' }], [{ key: 'ABC-1', fields: { status: 'Done' } }], [null], [[]]])(
    'an answer that is none is not changed on: %j',
    async (body) => {
      const { jira, update, changes } = await withIssue();
      jira.server.fault = ({ url }) => (/\/issue\/\d+$/.test(url.pathname) ? { body } : null);

      expect((await errorOf(update({ comment: 'x' }))).code).toBe('tracker_response');
      expect(changes()).toEqual([]);
    },
  );
});
