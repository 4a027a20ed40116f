import { describe, expect, test } from 'vitest';
import { BatonError } from '../../src/domain/errors.js';
import { updateIssueTool } from '../../src/tracker/update-issue.js';
import { config, issue } from '../support/builders.js';
import { MemoryTracker } from '../support/memory-tracker.js';
import { FAKE_KINDS } from '../support/trackers/fake-kinds.js';
import type { FakeAnswer } from '../support/trackers/fake-server.js';
import { openFake } from '../support/trackers/fake-tracker.js';
import { errorOf } from './contract/tracker-contract.js';

function toolOn(tracker: MemoryTracker) {
  const tool = updateIssueTool(tracker, config().tracker);
  return (input: unknown) => tool.call(input, { issue: tracker.get('A'), runId: 'r' });
}

describe('the tool update_issue', () => {
  test("moves and comments the run's issue, and returns its new state", async () => {
    const tracker = new MemoryTracker([issue('A'), issue('B')]);

    const result = await toolOn(tracker)({ state: ' Done ', comment: 'ready' });

    expect(result).toEqual({ success: true, text: 'Commented. The issue is now in "Done".', movedTo: 'Done' });
    expect([tracker.get('A').state, tracker.get('B').state]).toEqual(['Done', 'Todo']);
    expect(tracker.comments).toEqual([{ issueId: 'A', comment: 'ready' }]);
  });

  test('an unconfirmed change is reported with its doubt', async () => {
    const tracker = new MemoryTracker([issue('A')]);
    const update = async () => ({ state: 'Done', doubt: 'Taken, but not seen.' });
    const doubtful = Object.assign(tracker, { update });

    const moved = await toolOn(doubtful)({ state: 'Done' });
    const commented = await toolOn(doubtful)({ comment: 'x' });

    expect(moved).toEqual({ success: true, text: 'Taken, but not seen.', movedTo: 'Done' });
    expect(commented).toEqual({ success: true, text: 'Taken, but not seen.' });
  });

  test('a comment alone has no movedTo', async () => {
    const tracker = new MemoryTracker([issue('A')]);

    const result = await toolOn(tracker)({ comment: 'half way', state: null });

    expect(result).toEqual({ success: true, text: 'Commented. The issue is in "Todo".' });
  });

  test.each<[string, unknown, string]>([
    ['SEC-22 another issue', { id: 'B', state: 'Done' }, 'not id'],
    ['a number for a state', { state: 7 }, 'state must be a text'],
    ['a blank state', { state: ' ' }, 'state must be a text'],
    ['a list for a comment', { comment: ['x'] }, 'comment must be a text'],
    ['a comment without end', { comment: 'x'.repeat(20_001) }, '20000 are allowed'],
    ['nothing to do', {}, 'needs a state, a comment, or both'],
    ['no object', 'Done', 'takes an object'],
    ['a list', ['Done'], 'takes an object'],
  ])('%s is refused with the reason, and changes nothing', async (_, input, text) => {
    const tracker = new MemoryTracker([issue('A'), issue('B')]);

    const result = await toolOn(tracker)(input);

    expect(result).toEqual({ success: false, text: expect.stringContaining(text) });
    expect([tracker.get('A').state, tracker.get('B').state, tracker.comments]).toEqual(['Todo', 'Todo', []]);
  });

  test('a rate limit ends the turn of the agent and has the time of its reset', async () => {
    const tracker = new MemoryTracker([issue('A')]);
    tracker.update = () => Promise.reject(new BatonError('tracker_rate_limited', 'Later.', { resetAtMs: 77 }));

    const result = await toolOn(tracker)({ state: 'Done' });

    expect(result).toEqual({
      success: false,
      text: expect.stringMatching(/^Later\. .*end your turn/),
      limitedUntilMs: 77,
    });
  });

  test.each([
    [['state', 'comment'], ['state', 'comment'], /comment on it, or both/],
    [['state'], ['state'], /takes no comments/],
    [['comment'], ['comment'], /only people move/],
    [[], [], /Does nothing/],
  ] as const)('of a tracker in which %j can be changed it offers no more', (changes, offered, words) => {
    const tracker = Object.assign(new MemoryTracker(), { changes });

    const { inputSchema, description } = updateIssueTool(tracker, config().tracker);

    expect(Object.keys(inputSchema.properties ?? {})).toEqual(offered);
    expect(description).toMatch(words);
  });

  test('the agent reads the refusal of the tracker', async () => {
    const tracker = new MemoryTracker([issue('A')]);
    const tool = updateIssueTool(tracker, config().tracker);
    tracker.remove('A');

    const result = await tool.call({ state: 'Done' }, { issue: issue('A'), runId: 'r' });

    expect(result).toEqual({ success: false, text: 'issue A is gone' });
  });

  test('names all states, and those in which work continues', () => {
    const { description } = updateIssueTool(new MemoryTracker(), config().tracker);

    expect(description).toContain('States: Todo, In Progress, Done, Cancelled.');
    expect(description).toContain('in another state than: Todo, In Progress.');
  });
});

const NEVER = new AbortController().signal;
/** Redmine takes both in one request. */
const KINDS = ['linear', 'github', 'gitlab', 'jira'] as const;
const RESET_AT_MS = Date.now() + 600_000;

const FAILURES: readonly [string, FakeAnswer, string][] = [
  ['a limit', { status: 429, headers: { 'retry-after': '600' }, body: {} }, 'tracker_rate_limited'],
  ['a broken server', { status: 502, raw: '<html>' }, 'tracker_status'],
  ['a token without the right', { status: 403, body: {} }, 'tracker_auth'],
  ['half an answer', { raw: '{"a": 1}', cutAt: 3 }, 'tracker_request'],
  ['nonsense', { raw: 'hello' }, 'tracker_response'],
];

describe.each(KINDS)('a comment that is written before the move fails is not to be repeated: %s', (kind) => {
  async function moved(answer: FakeAnswer, comment?: string) {
    const { start, terminal } = FAKE_KINDS[kind];
    const fake = await start();
    const added = fake.add();
    const isMove = () => comment === undefined || added.comments.length > 0;
    fake.server.fault = ({ method, body }) =>
      isMove() && method !== 'GET' && !/^\s*query/.test(body?.query ?? '') ? answer : null;
    const change = { state: terminal, ...(comment === undefined ? {} : { comment }) };
    const error = await errorOf(openFake(fake).update(added.id, change, NEVER));
    return { error, added };
  }

  test.each(FAILURES)('%s', async (_what, answer, code) => {
    const { error, added } = await moved(answer, 'Did it.');

    expect(added.comments).toHaveLength(1);
    expect(error.code).toBe(code);
    expect(error.message).toMatch(/^The comment is written, do not repeat it; but the move failed\. ./);
  });

  test('a rate limit has the time of its reset', async () => {
    const { error } = await moved(FAILURES[0]?.[1] ?? {}, 'Did it.');

    expect(Math.abs(Number(error.details.resetAtMs) - RESET_AT_MS)).toBeLessThan(60_000);
  });

  test('without a comment the error is unchanged', async () => {
    const { error } = await moved(FAILURES[1]?.[1] ?? {});

    expect(error.message).not.toContain('comment');
  });
});
