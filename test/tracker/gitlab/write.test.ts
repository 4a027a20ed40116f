import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/domain/json.js';
import { holdsQuickAction, withoutQuickActions } from '../../../src/tracker/gitlab/write.js';
import { type FakeGitlab, startFakeGitlab } from '../../support/trackers/fake-gitlab.js';
import { type FakeIssue, openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;
const LABELS: JsonObject = { state_labels: ['In progress', 'Review'] };

function changes({ server }: FakeGitlab) {
  return server.requests
    .filter(({ method }) => method !== 'GET')
    .map(({ method, url, body }) => [`${method} ${url.pathname.split('/issues')[1]}`, body]);
}

describe('a move is one request, and keeps other labels', () => {
  test.each<[string, Partial<FakeIssue>, string, object | null]>([
    ['opened to closed', { labels: ['bug'] }, 'Closed', { state_event: 'close' }],
    [
      'a label to closed',
      { state: 'Review', labels: ['bug'] },
      'closed',
      { remove_labels: 'Review', state_event: 'close' },
    ],
    ['opened to a label', { labels: ['bug'] }, 'review', { add_labels: 'Review' }],
    ['label to label', { state: 'In progress' }, 'Review', { add_labels: 'Review', remove_labels: 'In progress' }],
    [
      'two labels to one of them',
      { state: 'In progress', labels: ['Review'] },
      'in progress',
      { remove_labels: 'Review' },
    ],
    ['a label to opened', { state: 'Review', labels: ['bug'] }, 'opened', { remove_labels: 'Review' }],
    [
      'closed to opened',
      { state: 'closed', labels: ['Review'] },
      'opened',
      { remove_labels: 'Review', state_event: 'reopen' },
    ],
    ['closed to a label', { state: 'closed' }, 'Review', { add_labels: 'Review', state_event: 'reopen' }],
    ['closed to the label it carries', { state: 'closed', labels: ['Review'] }, 'Review', { state_event: 'reopen' }],
    ['where it is already', { state: 'Review' }, 'Review', null],
    ['closed to closed', { state: 'closed' }, 'closed', null],
  ])('%s', async (_what, fields, state, body) => {
    const fake = await startFakeGitlab();
    const issue = fake.add(fields);

    const update = await openFake(fake, { provider: LABELS }).update(issue.id, { state }, NEVER);

    expect(changes(fake)).toEqual(body === null ? [] : [['PUT /1', body]]);
    expect(update.state.toLowerCase()).toBe(state.toLowerCase());
    expect(issue.state).toBe(update.state);
    if (fields.labels?.includes('bug')) expect(issue.labels).toEqual(['bug']);
  });

  test.each([
    [['REVIEW'], 'REVIEW'],
    [['REVIEW', 'Review'], 'Review'],
    [['Reviewed'], 'Review'],
    [[], 'Review'],
  ])('where the labels %j exist, the state Review is put on as %s', async (existing, put) => {
    const fake = await startFakeGitlab();
    fake.world.labels.splice(0, 2, ...existing);
    fake.world.stateLabels.push('REVIEW');
    const issue = fake.add();

    await openFake(fake, { provider: LABELS }).update(issue.id, { state: 'Review' }, NEVER);

    expect(changes(fake)).toEqual([['PUT /1', { add_labels: put }]]);
  });
});

test('a comment runs no quick action', async () => {
  const fake = await startFakeGitlab();
  const issue = fake.add();

  await openFake(fake).update(issue.id, { comment: 'Done.\n/close\r\n/move acme/core\n/\rlock' }, NEVER);

  expect(issue.comments.map(({ body }) => body)).toEqual(['Done.\n\\/close\n\\/move acme/core\n/\nlock']);
});

describe('the agent reads why GitLab ignores a change', () => {
  test('a change that a low role silently drops is refused', async () => {
    const fake = await startFakeGitlab();
    const issue = fake.add();
    fake.world.isChangeIgnored = true;

    await expect(
      openFake(fake, { provider: LABELS }).update(issue.id, { state: 'Review' }, NEVER),
    ).rejects.toMatchObject({
      code: 'tracker_refused',
      message: expect.stringMatching(/left it in "opened".*Planner/),
    });
  });

  test.each(['GL-x', '../2', '', '99', '2'])('%j is no visible issue, and nothing is changed', async (id) => {
    const fake = await startFakeGitlab();
    fake.add();
    fake.world.hidden.add(fake.add().id);

    await expect(openFake(fake).update(id, { comment: 'x' }, NEVER)).rejects.toMatchObject({ code: 'tracker_refused' });
    expect(changes(fake)).toEqual([]);
  });
});

test('an answer about another issue is none', async () => {
  const fake = await startFakeGitlab();
  fake.add();
  fake.server.fault = ({ method }) => (method === 'GET' ? { body: { iid: 2, title: 'T', state: 'opened' } } : null);

  await expect(openFake(fake).update('1', { comment: 'x' }, NEVER)).rejects.toMatchObject({ code: 'tracker_response' });
  expect(changes(fake)).toEqual([]);
});

/** What GitLab's own reader finds: it drops `\r`, then looks for lines that begin with a command. */
function commandsIn(text: string): readonly string[] {
  return text
    .replaceAll('\r', '')
    .split('\n')
    .flatMap((line) => /^\/(?:close|move|label|merge)(?: .*)?$/i.exec(line.trimEnd()) ?? []);
}

const COMMANDS = [
  ...['/close', 'Done.\n/close', 'Done.\r\n/close\r\n', '/CLOSE', '/close  ', '/move acme/core', '/label ~"a b"'],
  ...['/\rclose', '\r/close', '/clo\rse', 'x\n\r/\r\rclose', '/close\r', '\n\n/merge', 'a\n/close\n/move b/c'],
];

describe('a quick action in a comment is escaped', () => {
  test.each(COMMANDS)('%j', (text) => {
    expect(commandsIn(text)).not.toEqual([]);

    expect(commandsIn(withoutQuickActions(text))).toEqual([]);
  });

  test.each(['  /close', '\t/close', 'a\u2028/close'])(
    'nor what a more lenient reader might take for one: %j',
    (text) => {
      expect(withoutQuickActions(text)).toContain('\\/close');
    },
  );
});

test.each(['See /etc/hosts.', '/etc/hosts', 'a / b', '/', 'and/or', '`/close`', '> /close', 'https://x.example/close'])(
  'what is no command stays as it is: %j',
  (text) => {
    expect(withoutQuickActions(text)).toBe(text);
    expect(holdsQuickAction(text)).toBe(false);
  },
);

test.each(COMMANDS)('a command is found in %j, however deep it lies', (text) => {
  expect(holdsQuickAction(text)).toBe(true);
  expect(holdsQuickAction({ body: [{ text }] })).toBe(true);
});

test.each([null, undefined, 7, true, {}, []])('%j holds no quick action', (value) => {
  expect(holdsQuickAction(value)).toBe(false);
});
