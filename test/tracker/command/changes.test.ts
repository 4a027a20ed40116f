import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/domain/json.js';
import { errorOf, NEVER, open } from './program-fixture.js';

const STATES = ['Todo', 'In Progress', 'Done'];
const DESCRIBED = { states: STATES, user: 'ann', target: 'Board 7' };

const answering = (answers: JsonObject) => open('stays', { args: [JSON.stringify(answers)] });
const described = (more: JsonObject = {}) => answering({ describe: DESCRIBED, comment: {}, move: {}, ...more });

describe('a change', () => {
  test('comments first, then moves to the state as the tracker spells it', async () => {
    const { tracker, log } = described();

    const { state } = await tracker.update('1', { state: ' in progress ', comment: 'Did it.' }, NEVER);

    expect(state).toBe('In Progress');
    expect(log().filter((line) => line !== 'start')).toEqual(['describe', 'comment', 'move']);
    expect(tracker.states).toEqual(STATES);
  });

  test('overtakes waiting reads, but only some of them', async () => {
    const { tracker, log } = described();
    await tracker.issuesByStates(['Todo'], NEVER);
    const before = log().length;

    const changes = Array.from({ length: 20 }, () => tracker.update('1', { state: 'Done' }, NEVER));
    await Promise.all([tracker.issuesByStates(['Todo'], NEVER), ...changes]);

    const asked = log().slice(before);
    expect(asked.indexOf('issues_by_states')).toBeGreaterThan(0);
    expect(asked.indexOf('issues_by_states')).toBeLessThan(10);
    expect(asked.filter((method) => method === 'move')).toHaveLength(20);
  });

  test('reports the state that the program reports', async () => {
    const { tracker } = described({ move: { state: 'Review' } });

    expect(await tracker.update('1', { state: 'Done' }, NEVER)).toEqual({ state: 'Review' });
  });

  test('a comment alone reports the current state', async () => {
    const { tracker, log } = described();

    expect(await tracker.update('2', { comment: 'Hm.' }, NEVER)).toEqual({ state: 'Done' });
    expect(log()).not.toContain('move');
  });

  test('an unknown state is refused with the known ones, and nothing is written', async () => {
    const { tracker, log } = described();

    const error = await errorOf(tracker.update('1', { state: 'Dnoe', comment: 'x' }, NEVER));

    expect(error.code).toBe('tracker_refused');
    expect(error.message).toContain('Use one of: Todo, In Progress, Done.');
    expect(log()).toEqual(['start', 'describe']);
  });

  test('any state is sent to a program that lists none', async () => {
    const { tracker } = answering({ move: {} });

    expect(await tracker.update('1', { state: ' Anything ' }, NEVER)).toEqual({ state: 'Anything' });
  });

  test.each([
    [
      { code: 'refused', message: 'needs a reviewer' },
      'move was refused: the tracker would not do it. It says: needs a reviewer',
    ],
    [{ code: 'not_found' }, 'the issue does not exist any more'],
    [{ code: 'unsupported' }, 'Issues of this tracker cannot be moved from here'],
  ])('%j is reported to the agent', async (error, words) => {
    const { tracker } = described({ move: { error } });

    const thrown = await errorOf(tracker.update('1', { state: 'Done' }, NEVER));

    expect(thrown).toMatchObject({ code: 'tracker_refused', message: expect.stringContaining(words) });
  });

  test('an error of the move says that the comment is written', async () => {
    const { tracker } = described({ move: { error: { code: 'auth' } } });

    const error = await errorOf(tracker.update('1', { state: 'Done', comment: 'x' }, NEVER));

    expect(error.code).toBe('tracker_auth');
    expect(error.message).toMatch(/^The comment is written, do not repeat it; but the move failed\. /);
  });

  test('methods that the program does not list are not called', async () => {
    const { tracker, log } = described({ describe: { ...DESCRIBED, methods: ['move'] } });

    const before = tracker.changes;
    const error = await errorOf(tracker.update('1', { state: 'Done', comment: 'x' }, NEVER));

    expect(error).toMatchObject({
      code: 'tracker_refused',
      message: expect.stringContaining('cannot be commented on'),
    });
    expect(log()).toEqual(['start', 'describe']);
    // Agents are not offered them any more.
    expect([before, tracker.changes]).toEqual([['state', 'comment'], ['state']]);
  });

  test.each([
    [{ issues: [] }, 'tracker_refused', '9 cannot be changed: it does not exist any more'],
    [{ issues: [], unknown: ['9'] }, 'tracker_request', 'so nothing was written'],
  ])('a comment on a missing issue is not sent: %j', async (result, code, words) => {
    const { tracker, log } = described({ issues_by_ids: result });

    const error = await errorOf(tracker.update('9', { comment: 'x' }, NEVER));

    expect(error).toMatchObject({ code, message: expect.stringContaining(words) });
    expect(log()).not.toContain('comment');
  });

  test('does not wait for earlier reads', async () => {
    const { tracker, log } = open('hangs', { args: ['issues_by_states'], provider: { timeout_ms: 1_000 } });
    const reads = [errorOf(tracker.issuesByStates(['Todo'], NEVER)), errorOf(tracker.issuesByStates(['Done'], NEVER))];
    await expect.poll(log).toContain('issues_by_states');

    await tracker.update('1', { state: 'Done' }, NEVER);

    expect(log().filter((line) => line === 'issues_by_states')).toHaveLength(1);
    await tracker.close();
    await Promise.all(reads);
  });
});

describe('comments', () => {
  const issue = {
    id: '1',
    identifier: 'X-1',
    title: 'T',
    state: 'Todo',
    comments: [{ author: 'ann', body: 'With it' }],
  };
  const reading = async (answers: JsonObject) => {
    const { tracker, log } = answering({ issues_by_ids: { issues: [issue] }, ...answers });
    const [found] = (await tracker.issuesByIds(['1'], NEVER)).issues;
    if (!found) throw new Error('it is there');
    return { comments: tracker.readComments?.(found, NEVER), log };
  };

  test('are read with the method comments', async () => {
    const { comments } = await reading({ comments: { comments: [{ author: 'ann', body: 'Now' }] } });

    expect(await comments).toMatchObject([{ body: 'Now' }]);
  });

  test('are those of the issue when the program does not know the method', async () => {
    const { comments } = await reading({});
    const told = await reading({ describe: { methods: ['move'] } });

    expect(await comments).toMatchObject([{ author: 'ann', body: 'With it' }]);
    expect(await told.comments).toMatchObject([{ body: 'With it' }]);
    expect(told.log()).not.toContain('comments');
  });

  test('without a list in the answer are an error', async () => {
    const { comments } = await reading({ comments: {} });

    expect(await errorOf(comments ?? Promise.resolve())).toMatchObject({ code: 'tracker_response' });
  });
});

describe('inspect', () => {
  test('reports user, target and states', async () => {
    const facts = await described().tracker.inspect?.(NEVER);

    expect(facts).toEqual({ user: 'ann', target: 'Board 7', states: STATES, warnings: [] });
  });

  test('warns when the program does not know describe', async () => {
    const { tracker } = answering({});

    const facts = await tracker.inspect?.(NEVER);

    expect(facts).toMatchObject({
      user: null,
      target: tracker.scope,
      states: [],
      warnings: [expect.stringContaining('`describe`')],
    });
  });

  test('throws an auth error, which is only a problem of a poll', async () => {
    const { tracker } = answering({ describe: { error: { code: 'auth' } } });

    const error = await errorOf(tracker.inspect?.(NEVER) ?? Promise.resolve());
    const { issues, problems } = await tracker.issuesByStates(['Todo'], NEVER);

    expect(error.code).toBe('tracker_auth');
    expect(issues).toHaveLength(1);
    expect(problems).toEqual([expect.stringContaining('The states of the tracker are not known')]);
  });
});
