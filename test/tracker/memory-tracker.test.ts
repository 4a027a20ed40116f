import { describe, expect, test } from 'vitest';
import { issue } from '../support/builders.js';
import { MemoryTracker } from '../support/memory-tracker.js';

const { signal } = new AbortController();
const ids = (batch: { issues: readonly { id: string }[] }) => batch.issues.map(({ id }) => id);

describe('the tracker in memory', () => {
  test('answers by state, compared trimmed and in any case, and by id', async () => {
    const tracker = new MemoryTracker([issue('A'), issue({ id: 'B', state: 'Done' })]);

    expect(ids(await tracker.issuesByStates([' todo '], signal))).toEqual(['A']);
    expect(ids(await tracker.issuesByIds(['B', 'gone'], signal))).toEqual(['B']);
    expect(tracker.calls.map(({ method }) => method)).toEqual(['issuesByStates', 'issuesByIds']);
  });

  test('tells unknown from gone', async () => {
    const tracker = new MemoryTracker([issue('A'), issue('B')]);
    tracker.unknown(['B']);
    tracker.remove('A');

    expect(await tracker.issuesByIds(['A', 'B'], signal)).toEqual({ issues: [], unknown: ['B'] });
  });

  test('fails once when told to, for one method alone if named', async () => {
    const tracker = new MemoryTracker();
    tracker.fail(undefined, 'issuesByIds');

    await tracker.issuesByStates([], signal);
    await expect(tracker.issuesByIds([], signal)).rejects.toMatchObject({ code: 'tracker_request' });
    await tracker.issuesByIds([], signal);
  });

  test('holds answers back at a gate, and they tell what was true when it was asked', async () => {
    const tracker = new MemoryTracker([issue('A')]);
    const open = tracker.gate();
    const asked = tracker.issuesByStates(['Todo'], signal);
    await tracker.called(1);

    tracker.move('A', 'Done');
    open();

    expect(ids(await asked)).toEqual(['A']);
    expect(ids(await tracker.issuesByStates(['Todo'], signal))).toEqual([]);
  });

  test('gives up a question that is aborted', async () => {
    const tracker = new MemoryTracker();
    tracker.gate();
    const given = new AbortController();
    const asked = tracker.issuesByIds([], given.signal);

    given.abort();

    await expect(asked).rejects.toMatchObject({ code: 'tracker_request' });
  });

  test('passes its rate limit on', async () => {
    const tracker = new MemoryTracker();
    tracker.rateLimit = { remaining: 3, resetAtMs: 9 };

    expect(await tracker.issuesByIds([], signal)).toMatchObject({ rateLimit: { remaining: 3, resetAtMs: 9 } });
  });
});
