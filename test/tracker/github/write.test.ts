import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/domain/json.js';
import { type FakeGithub, startFakeGithub } from '../../support/trackers/fake-github.js';
import type { FakeRequest } from '../../support/trackers/fake-server.js';
import type { FakeIssue } from '../../support/trackers/fake-tracker.js';
import { openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;
const LABELS: JsonObject = { state_labels: ['In progress', 'Review'] };

function changes({ server }: FakeGithub): string[] {
  const shown = ({ method, url, body }: FakeRequest) =>
    `${method} ${url.pathname.replace('/repos/octo-org/widgets/issues', '')}${body === null ? '' : ` ${JSON.stringify(body)}`}`;
  return server.requests.filter(({ method }) => method !== 'GET').map(shown);
}

async function moved(fields: Partial<FakeIssue>, state: string) {
  const fake = await startFakeGithub();
  const issue = fake.add(fields);
  const update = await openFake(fake, { provider: LABELS }).update(issue.id, { state }, NEVER);
  return { fake, issue, update, sent: changes(fake) };
}

const CLOSE = 'PATCH /1 {"state":"closed","state_reason":"completed"}';
const REOPEN = 'PATCH /1 {"state":"open"}';

describe('a move changes the state once, and keeps other labels', () => {
  test.each<[string, Partial<FakeIssue>, string, string[]]>([
    ['open to closed', { state: 'open', labels: ['bug'] }, 'Closed', [CLOSE]],
    ['a label to closed', { state: 'Review', labels: ['bug'] }, 'closed', [CLOSE, 'DELETE /1/labels/Review']],
    ['open to a label', { state: 'open', labels: ['bug'] }, 'review', ['POST /1/labels {"labels":["Review"]}']],
    [
      'label to label',
      { state: 'In progress', labels: ['bug'] },
      'Review',
      ['POST /1/labels {"labels":["Review"]}', 'DELETE /1/labels/In%20progress'],
    ],
    [
      'two labels to one of them',
      { state: 'In progress', labels: ['Review'] },
      'in progress',
      ['DELETE /1/labels/Review'],
    ],
    ['a label to open', { state: 'Review', labels: ['bug'] }, 'open', ['DELETE /1/labels/Review']],
    ['closed to open', { state: 'closed', labels: ['Review', 'bug'] }, 'open', ['DELETE /1/labels/Review', REOPEN]],
    [
      'closed to a label',
      { state: 'closed', labels: ['In progress'] },
      'Review',
      ['POST /1/labels {"labels":["Review"]}', 'DELETE /1/labels/In%20progress', REOPEN],
    ],
    ['where it is already', { state: 'Review' }, 'Review', []],
    ['closed to closed', { state: 'closed' }, 'closed', []],
  ])('%s', async (_what, fields, state, sent) => {
    const result = await moved(fields, state);

    expect(result.sent).toEqual(sent);
    expect(result.update.state.toLowerCase()).toBe(state.toLowerCase());
    expect(result.issue.state).toBe(result.update.state);
    if (fields.labels?.includes('bug')) expect(result.issue.labels).toEqual(['bug']);
  });
});

test('the name of a label is one segment of a path', async () => {
  const fake = await startFakeGithub();
  const label = '../../a/b?c#d %2f é';
  const issue = fake.add({ labels: [label] });

  await openFake(fake, { provider: { state_labels: { Odd: label } } }).update(issue.id, { state: 'open' }, NEVER);

  expect(issue.labels).toEqual([]);
  expect(changes(fake)).toEqual([`DELETE /1/labels/${encodeURIComponent(label)}`]);
});

test('a label that is already removed is no error', async () => {
  const fake = await startFakeGithub();
  const issue = fake.add({ state: 'Review' });
  fake.server.fault = ({ method }) =>
    method === 'DELETE' ? { status: 404, body: { message: 'Label does not exist' } } : null;

  const { state } = await openFake(fake, { provider: LABELS }).update(issue.id, { state: 'closed' }, NEVER);

  expect(state).toBe('closed');
});

describe('the agent reads why GitHub ignores a change', () => {
  test('a change that is accepted without effect is refused', async () => {
    const fake = await startFakeGithub();
    const issue = fake.add();
    fake.server.fault = ({ method }) => (method === 'PATCH' ? { body: { number: 1, state: 'open' } } : null);

    await expect(openFake(fake).update(issue.id, { state: 'closed' }, NEVER)).rejects.toMatchObject({
      code: 'tracker_refused',
    });
  });
});
