import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/domain/json.js';
import { errorOf, NEVER, open } from './program-fixture.js';

const STATES = ['Todo', 'In Progress', 'Done'];
const DESCRIBED = { states: STATES, user: 'ann', target: 'Board 7' };

const answering = (answers: JsonObject) => open('keeps-on', { args: [JSON.stringify(answers)] });
const able = (more: JsonObject = {}) => answering({ describe: DESCRIBED, comment: {}, move: {}, ...more });

describe('a change', () => {
  test('comments, then moves, to the state as the tracker spells it', async () => {
    const { tracker, log } = able();

    const { state } = await tracker.update('1', { state: ' in progress ', comment: 'Did it.' }, NEVER);

    expect(state).toBe('In Progress');
    expect(log().filter((line) => line !== 'start')).toEqual(['describe', 'comment', 'move']);
    expect(tracker.states).toEqual(STATES);
  });

  test('goes before reads that wait, but not for ever: agents that change all the time do not make the daemon blind', async () => {
    const { tracker, log } = able();
    await tracker.issuesByStates(['Todo'], NEVER);
    const before = log().length;

    const changes = Array.from({ length: 20 }, () => tracker.update('1', { state: 'Done' }, NEVER));
    await Promise.all([tracker.issuesByStates(['Todo'], NEVER), ...changes]);

    const asked = log().slice(before);
    expect(asked.indexOf('issues_by_states')).toBeGreaterThan(0);
    expect(asked.indexOf('issues_by_states')).toBeLessThan(10);
    expect(asked.filter((method) => method === 'move')).toHaveLength(20);
  });

  test('ends where the program says that it ended', async () => {
    const { tracker } = able({ move: { state: 'Review' } });

    expect(await tracker.update('1', { state: 'Done' }, NEVER)).toEqual({ state: 'Review' });
  });

  test('a comment alone tells where the issue is', async () => {
    const { tracker, log } = able();

    expect(await tracker.update('2', { comment: 'Hm.' }, NEVER)).toEqual({ state: 'Done' });
    expect(log()).not.toContain('move');
  });

  test('a state that does not exist is refused with those that do, and nothing is written', async () => {
    const { tracker, log } = able();

    const error = await errorOf(tracker.update('1', { state: 'Dnoe', comment: 'x' }, NEVER));

    expect(error.code).toBe('tracker_refused');
    expect(error.message).toContain('Use one of: Todo, In Progress, Done.');
    expect(log()).toEqual(['start', 'describe']);
  });

  test('where states are not told, the program decides', async () => {
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
  ])('%j is for the agent to hear', async (error, words) => {
    const { tracker } = able({ move: { error } });

    const thrown = await errorOf(tracker.update('1', { state: 'Done' }, NEVER));

    expect(thrown).toMatchObject({ code: 'tracker_refused', message: expect.stringContaining(words) });
  });

  test('a comment that was made is not forgotten when the move fails', async () => {
    const { tracker } = able({ move: { error: { code: 'auth' } } });

    const error = await errorOf(tracker.update('1', { state: 'Done', comment: 'x' }, NEVER));

    expect(error.code).toBe('tracker_auth');
    expect(error.message).toMatch(/^The comment is written, do not repeat it; but the move failed\. /);
  });

  test('what the program said that it lacks is not asked of it', async () => {
    const { tracker, log } = able({ describe: { ...DESCRIBED, methods: ['move'] } });

    const before = tracker.changes;
    const error = await errorOf(tracker.update('1', { state: 'Done', comment: 'x' }, NEVER));

    expect(error).toMatchObject({
      code: 'tracker_refused',
      message: expect.stringContaining('cannot be commented on'),
    });
    expect(log()).toEqual(['start', 'describe']);
    // Nor is it offered, from then on.
    expect([before, tracker.changes]).toEqual([['state', 'comment'], ['state']]);
  });

  test.each([
    [{ issues: [] }, 'tracker_refused', '9 cannot be changed: it does not exist any more'],
    [{ issues: [], unknown: ['9'] }, 'tracker_request', 'so nothing was written'],
  ])('a comment on what is not there is none: %j', async (result, code, words) => {
    const { tracker, log } = able({ issues_by_ids: result });

    const error = await errorOf(tracker.update('9', { comment: 'x' }, NEVER));

    expect(error).toMatchObject({ code, message: expect.stringContaining(words) });
    expect(log()).not.toContain('comment');
  });

  test('does not wait for reads that were asked before it', async () => {
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

  test('are read for a run', async () => {
    const { comments } = await reading({ comments: { comments: [{ author: 'ann', body: 'Now' }] } });

    expect(await comments).toMatchObject([{ body: 'Now' }]);
  });

  test('are those of the issue where the program does not know them otherwise', async () => {
    const { comments } = await reading({});
    const told = await reading({ describe: { methods: ['move'] } });

    expect(await comments).toMatchObject([{ author: 'ann', body: 'With it' }]);
    expect(await told.comments).toMatchObject([{ body: 'With it' }]);
    expect(told.log()).not.toContain('comments');
  });

  test('an answer without a list is an error', async () => {
    const { comments } = await reading({ comments: {} });

    expect(await errorOf(comments ?? Promise.resolve())).toMatchObject({ code: 'tracker_response' });
  });
});

describe('what `baton check` asks', () => {
  test('the program tells who it is, at what it looks, and its states', async () => {
    const facts = await able().tracker.inspect?.(NEVER);

    expect(facts).toEqual({ user: 'ann', target: 'Board 7', states: STATES, warnings: [] });
  });

  test('one that does not describe itself is a warning', async () => {
    const { tracker } = answering({});

    const facts = await tracker.inspect?.(NEVER);

    expect(facts).toMatchObject({
      user: null,
      target: tracker.scope,
      states: [],
      warnings: [expect.stringContaining('`describe`')],
    });
  });

  test('one that is not let in is an error, and in a poll only a problem', async () => {
    const { tracker } = answering({ describe: { error: { code: 'auth' } } });

    const error = await errorOf(tracker.inspect?.(NEVER) ?? Promise.resolve());
    const { issues, problems } = await tracker.issuesByStates(['Todo'], NEVER);

    expect(error.code).toBe('tracker_auth');
    expect(issues).toHaveLength(1);
    expect(problems).toEqual([expect.stringContaining('The states of the tracker are not known')]);
  });
});
