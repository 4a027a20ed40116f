import { expect, test } from 'vitest';
import { type FakeRedmine, startFakeRedmine } from '../../support/trackers/fake-redmine.js';
import type { FakeAnswer } from '../../support/trackers/fake-server.js';
import { openFake } from '../../support/trackers/fake-tracker.js';
import { errorOf } from '../contract/tracker-contract.js';

const NEVER = new AbortController().signal;

async function oneIssue() {
  const fake = await startFakeRedmine();
  const issue = fake.add();
  const changes = () => fake.server.requests.filter(({ method }) => method !== 'GET');
  return { fake, issue, tracker: openFake(fake), changes };
}

test('comment and move are one request', async () => {
  const { tracker, changes } = await oneIssue();

  const { state } = await tracker.update('1', { state: 'in progress', comment: 'Begun.' }, NEVER);

  expect(state).toBe('In Progress');
  expect(changes().map(({ method, url, body }) => [method, url.pathname, body])).toEqual([
    ['PUT', '/issues/1.json', { issue: { status_id: 2, notes: 'Begun.' } }],
  ]);
});

test('an issue in the target state is not moved', async () => {
  const { tracker, changes } = await oneIssue();

  const { state } = await tracker.update('1', { state: 'NEW' }, NEVER);
  await tracker.update('1', { state: 'New', comment: 'Still.' }, NEVER);

  expect(state).toBe('New');
  expect(changes().map(({ body }) => body)).toEqual([{ issue: { notes: 'Still.' } }]);
});

test('a move that Redmine ignores is refused with the allowed states, and the comment is kept', async () => {
  const { fake, issue, tracker } = await oneIssue();
  for (const state of ['Closed', 'Rejected', 'Feedback']) fake.forbidden.add(state);

  const error = await errorOf(tracker.update('1', { state: 'Closed', comment: 'Done.' }, NEVER));

  expect(error.code).toBe('tracker_refused');
  expect(error.message).toContain('Redmine left RM-1 in "New"');
  expect(error.message).toContain('it may go to: In Progress, Resolved.');
  expect(error.message).toContain('The comment was added.');
  expect(issue.comments).toHaveLength(1);
});

test('an issue that is blocked is not closed', async () => {
  const { fake, tracker } = await oneIssue();
  fake.add({ blockedBy: ['1'] });

  const error = await errorOf(tracker.update('2', { state: 'Closed' }, NEVER));

  expect(error).toMatchObject({ code: 'tracker_refused', message: expect.stringContaining('blocked') });
});

test('allowed states may be missing in older versions', async () => {
  const { fake, tracker } = await oneIssue();
  fake.forbidden.add('Closed');
  fake.server.fault = ({ url }) => {
    const parts = url.searchParams.get('include')?.split(',') ?? [];
    url.searchParams.set('include', parts.filter((part) => part !== 'allowed_statuses').join(','));
    return null;
  };

  const error = await errorOf(tracker.update('1', { state: 'Closed' }, NEVER));

  expect(error.code).toBe('tracker_refused');
  expect(error.message).not.toContain('may go to');
});

test('a comment that Redmine ignores is refused, and the move is reported', async () => {
  const { fake, issue, tracker } = await oneIssue();
  issue.comments.push({ author: 'baton', isMember: true, body: 'Done.', createdAt: '2026-01-01T00:00:00Z' });
  fake.canAddNotes = false;

  const error = await errorOf(tracker.update('1', { state: 'Closed', comment: 'Done.' }, NEVER));

  expect(error.code).toBe('tracker_refused');
  expect(error.message).toContain('baton lacks the right "Add notes"');
  expect(error.message).toContain('The issue is in "Closed" now.');
});

test.each([
  [422, { errors: ['Due date must be set', 'Area cannot be blank'] }, 'Due date must be set; Area cannot be blank'],
  [409, { errors: ['Data has been updated by another user'] }, 'Data has been updated by another user'],
  [404, null, '404'],
])('%i is a refusal with its reason, and nothing was changed', async (status, body, reason) => {
  const { fake, tracker } = await oneIssue();
  fake.server.fault = ({ method }) => (method === 'PUT' ? { status, body } : null);

  const error = await errorOf(tracker.update('1', { state: 'Closed' }, NEVER));

  expect(error.code).toBe('tracker_refused');
  expect(error.message).toContain('changed nothing');
  expect(error.message).toContain(reason);
});

test.each([
  [403, 'tracker_auth'],
  [401, 'tracker_auth'],
  [500, 'tracker_status'],
  [429, 'tracker_rate_limited'],
])('%i keeps its error code', async (status, code) => {
  const { fake, tracker } = await oneIssue();
  fake.server.fault = ({ method }) => (method === 'PUT' ? { status, raw: '' } : null);

  expect((await errorOf(tracker.update('1', { comment: 'x' }, NEVER))).code).toBe(code);
});

const seenNoMore = (fake: FakeRedmine, answer: FakeAnswer) => {
  let isChanged = false;
  fake.server.fault = ({ method }) => {
    if (method === 'GET') return isChanged ? answer : null;
    isChanged = true;
    return null;
  };
};

test.each<[string, FakeAnswer]>([
  ['a broken server', { status: 502, raw: '' }],
  ['half an answer', { raw: '{"issue": {}}', cutAt: 4 }],
  ['nonsense', { body: { issue: 7 } }],
  ['an issue without its journals', { body: { issue: { id: 1 } } }],
])('a change that cannot be verified has a doubt: %s', async (_, answer) => {
  const { fake, issue, tracker } = await oneIssue();
  seenNoMore(fake, answer);

  const told = await tracker.update('1', { state: 'In Progress', comment: 'Begun.' }, NEVER);

  expect(told).toEqual({
    state: 'In Progress',
    doubt: expect.stringMatching(/accepted the change of RM-1, do not repeat/),
  });
  expect([issue.state, issue.comments.length]).toEqual(['In Progress', 1]);
});

test('a rate limit after a change is thrown and says that the change is made', async () => {
  const { fake, tracker } = await oneIssue();
  seenNoMore(fake, { status: 429, headers: { 'retry-after': '600' }, raw: '' });

  const error = await errorOf(tracker.update('1', { comment: 'Begun.' }, NEVER));

  expect(error.code).toBe('tracker_rate_limited');
  expect(Number(error.details.resetAtMs)).toBeGreaterThan(Date.now());
  expect(error.message).toMatch(/^Redmine accepted the change of RM-1, do not repeat it; .* limits our requests until/);
});

test.each(['2', '#2', 'RM-2', '7', 'nonsense', '../1'])(
  'an issue outside the project is not changed: %s',
  async (id) => {
    const { fake, tracker, changes } = await oneIssue();
    fake.projectOf.set(fake.add().id, 3);

    const error = await errorOf(tracker.update(id, { state: 'Closed', comment: 'Mine.' }, NEVER));

    expect(error.code).toBe('tracker_refused');
    expect(changes()).toEqual([]);
  },
);
