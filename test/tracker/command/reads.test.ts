import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/domain/json.js';
import { errorOf, NEVER, open } from './program-fixture.js';

const ISSUE = { id: '1', identifier: 'X-1', title: 'One', state: 'Todo' };

/** A program that answers each method with the same, whatever it is asked. */
function answering(answers: JsonObject) {
  return open('stays', { args: [JSON.stringify(answers)] }).tracker;
}

const listed = (issues: readonly unknown[], more: JsonObject = {}) =>
  answering({ issues_by_states: { issues, ...more } as JsonObject });
const found = (issues: readonly unknown[], more: JsonObject = {}) =>
  answering({ issues_by_ids: { issues, ...more } as JsonObject });

describe('an issue', () => {
  test('with only the required fields has all fields', async () => {
    const { issues, unknown } = await listed([ISSUE]).issuesByStates(['Todo'], NEVER);

    expect(unknown).toEqual([]);
    expect(issues).toEqual([
      {
        ...ISSUE,
        ...{ description: null, priority: null, branch_name: null, url: null, assignee_id: null, author: null },
        ...{ labels: [], blocked_by: [], comments: [], dispatchable: true, held_back: null, native_ref: null },
        ...{ created_at: null, updated_at: null },
      },
    ]);
  });

  test('is read field by field', async () => {
    const full = {
      ...{ id: 7, identifier: ' X-7 ', title: 'Seven', state: 'Todo', description: '  indented', priority: 2 },
      ...{ branch_name: 'b', url: 'https://example.org/7', assignee_id: 12, labels: [' Baton ', 'baton', 3] },
      ...{
        blocked_by: [{ id: 8, identifier: 'X-8', state: 'Done' }, {}],
        dispatchable: false,
        held_back: 'is not ours',
      },
      ...{ native_ref: 'n', created_at: '2026-01-31T13:00:00+01:00', updated_at: 'yesterday', surprise: { a: 1 } },
      comments: [{ author: 'ann', body: 'Hi', created_at: '2026-01-31T12:00:00Z' }],
    };

    const [issue] = (await listed([full]).issuesByStates(['Todo'], NEVER)).issues;

    expect(issue).toEqual({
      ...{ id: '7', identifier: 'X-7', title: 'Seven', state: 'Todo', description: '  indented', priority: 2 },
      ...{ branch_name: 'b', url: 'https://example.org/7', assignee_id: '12', author: null, labels: ['baton'] },
      ...{ blocked_by: [{ id: '8', identifier: 'X-8', state: 'Done' }], dispatchable: false, held_back: 'is not ours' },
      ...{ native_ref: { ref: 'n' }, created_at: '2026-01-31T12:00:00.000Z', updated_at: null },
      comments: [{ author: 'ann', body: 'Hi', created_at: '2026-01-31T12:00:00.000Z' }],
    });
  });

  test('SEC-14 a key named __proto__ has no effect', async () => {
    const args = [
      `{"issues_by_states":{"issues":[{"__proto__":{"dispatchable":false},"id":"1","identifier":"X","title":"T","state":"Todo"}]}}`,
    ];

    const [issue] = (await open('stays', { args }).tracker.issuesByStates(['Todo'], NEVER)).issues;

    expect(issue?.dispatchable).toBe(true);
  });
});

describe('a list by states', () => {
  test('requests each state once, trimmed', async () => {
    const { tracker, log } = open('reads-and-writes-pieces');

    const { issues } = await tracker.issuesByStates([' todo', 'TODO ', 'Done'], NEVER);

    expect(issues).toMatchObject([{ title: 'Ünïcödé 日本語 🧪', description: '€'.repeat(500) }]);
    expect(log().slice(0, 2)).toEqual(['start', 'issues_by_states 0']);
  });

  test('skips and reports invalid records', async () => {
    const { title: _, ...untitled } = ISSUE;

    const { issues, problems } = await listed([untitled, 7, { ...ISSUE, id: '2' }]).issuesByStates(['Todo'], NEVER);

    expect(issues.map(({ id }) => id)).toEqual(['2']);
    expect(problems).toEqual([
      expect.stringContaining('Issue X-1 came from the tracker without title'),
      expect.stringContaining('An issue came from the tracker without id'),
    ]);
  });

  test('skips and reports issues in other states, in a short text', async () => {
    const stray = { ...ISSUE, id: '2', identifier: `\u001b[2J${'y'.repeat(5_000)}`, state: 'Done' };

    const { issues, problems } = await listed([ISSUE, stray]).issuesByStates([' TODO'], NEVER);

    expect(issues.map(({ id }) => id)).toEqual(['1']);
    expect(problems).toEqual([expect.stringContaining('which is in "Done" and was not asked for')]);
    expect(problems?.[0]).toContain('\\u001b[2Jyyy');
    expect(problems?.[0]?.length).toBeLessThan(500);
  });

  test('keeps the last record of an issue and passes on problems of the program', async () => {
    const tracker = listed([ISSUE, { ...ISSUE, title: 'Later' }], { problems: ['page 3 did not come'] });

    const { issues, problems } = await tracker.issuesByStates(['Todo'], NEVER);

    expect(issues.map(({ title }) => title)).toEqual(['Later']);
    expect(problems).toEqual(['page 3 did not come']);
  });

  test('reports at most a hundred problems', async () => {
    const { problems } = await listed(Array(150).fill({})).issuesByStates(['Todo'], NEVER);

    expect(problems).toHaveLength(101);
    expect(problems?.at(-1)).toBe('… and 50 more of the kind.');
  });

  test.each([[{}], [{ issues: {} }], [{ issues: null }]])(
    'an answer without a list is no empty board: %j',
    async (result) => {
      const error = await errorOf(answering({ issues_by_states: result }).issuesByStates(['Todo'], NEVER));

      expect(error).toMatchObject({
        code: 'tracker_response',
        message: expect.stringContaining('An empty board is an empty list'),
      });
    },
  );
});

describe('issues by ids', () => {
  test('a missing issue is gone, unless the program calls it unknown', async () => {
    const tracker = found([ISSUE], { unknown: [3, '1', 'X-9'] });

    const { issues, unknown } = await tracker.issuesByIds(['1', '2', '3', '3'], NEVER);

    expect(issues.map(({ id }) => id)).toEqual(['1']);
    expect(unknown).toEqual(['3']);
  });

  test('may be requested by identifier; other issues are dropped', async () => {
    const tracker = found([ISSUE, { ...ISSUE, id: '2', identifier: 'X-2' }]);

    const { issues } = await tracker.issuesByIds(['X-2'], NEVER);

    expect(issues.map(({ id }) => id)).toEqual(['2']);
  });

  test.each([
    [{ issues: [ISSUE, { id: '2' }] }, 'without identifier'],
    [{ issues: [null] }, 'without id'],
    [{ issues: [ISSUE], unknown: [{}] }, '`unknown` that is not a list of texts'],
    [{ issues: [ISSUE], unknown: 'x' }, '`unknown` that is not a list of texts'],
    [{ issue: ISSUE }, 'without a list `issues`'],
  ])('an invalid record fails the whole answer: %j', async (result, words) => {
    const error = await errorOf(answering({ issues_by_ids: result as JsonObject }).issuesByIds(['1', '2'], NEVER));

    expect(error).toMatchObject({ code: 'tracker_response', message: expect.stringContaining(words) });
  });
});

describe('an error of the program', () => {
  test.each([
    [{ code: 'auth', message: 'expired' }, 'tracker_auth', 'It says: expired'],
    [
      { code: 'failed', message: 'disk full' },
      'tracker_status',
      'failed at issues_by_states (failed). It says: disk full',
    ],
    [{ code: 'teapot' }, 'tracker_status', '(teapot).'],
    [{ code: 'not_found' }, 'tracker_status', '(not_found).'],
    [{ code: 'unsupported' }, 'tracker_response', 'does not know issues_by_states. Add it to the program.'],
    [{ message: 'no code' }, 'tracker_status', '(failed). It says: no code'],
    ['only a text', 'tracker_status', 'It says: only a text'],
  ])('%j is %s', async (error, code, words) => {
    const thrown = await errorOf(answering({ issues_by_states: { error } }).issuesByStates(['Todo'], NEVER));

    expect(thrown.code).toBe(code);
    expect(thrown.message).toContain(words);
  });

  test.each([
    ['a time', { reset_at: new Date(Date.now() + 120_000).toISOString() }, 120_000],
    ['seconds', { retry_after: 120 }, 120_000],
    ['neither', {}, 60_000],
    ['nonsense', { reset_at: 'soon', retry_after: 'later' }, 60_000],
    ['the past', { reset_at: '2020-01-01T00:00:00Z' }, 60_000],
    ['a year', { retry_after: 31_536_000 }, 24 * 3_600_000],
  ])('a rate limit may come with %s', async (_, more, expectedMs) => {
    const error = { code: 'rate_limited', message: 'slow down', ...more };

    const thrown = await errorOf(answering({ issues_by_states: { error } }).issuesByStates(['Todo'], NEVER));

    expect(thrown.code).toBe('tracker_rate_limited');
    expect(Math.abs(Number(thrown.details.resetAtMs) - Date.now() - expectedMs)).toBeLessThan(10_000);
  });
});
