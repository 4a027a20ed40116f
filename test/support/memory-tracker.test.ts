import { describe, expect, test } from 'vitest';
import { issue } from './builders.js';
import { MemoryTracker } from './memory-tracker.js';

const { signal } = new AbortController();
const ids = (batch: { issues: readonly { id: string }[] }) => batch.issues.map(({ id }) => id);

describe('the tracker in memory', () => {
  test('returns issues by state, without regard to case, and by id', async () => {
    const tracker = new MemoryTracker([issue('A'), issue({ id: 'B', state: 'Done' })]);

    expect(ids(await tracker.issuesByStates([' todo '], signal))).toEqual(['A']);
    expect(ids(await tracker.issuesByIds(['B', 'gone'], signal))).toEqual(['B']);
    expect(tracker.calls.map(({ method }) => method)).toEqual(['issuesByStates', 'issuesByIds']);
  });

  test('distinguishes unknown issues from missing ones', async () => {
    const tracker = new MemoryTracker([issue('A'), issue('B')]);
    tracker.unknown(['B']);
    tracker.remove('A');

    expect(await tracker.issuesByIds(['A', 'B'], signal)).toEqual({ issues: [], unknown: ['B'] });
  });

  test('fails once on request, for one method if it is named', async () => {
    const tracker = new MemoryTracker();
    tracker.fail(undefined, 'issuesByIds');

    await tracker.issuesByStates([], signal);
    await expect(tracker.issuesByIds([], signal)).rejects.toMatchObject({ code: 'tracker_request' });
    await tracker.issuesByIds([], signal);
  });

  test('holds answers at a gate, with the issues of the time of the request', async () => {
    const tracker = new MemoryTracker([issue('A')]);
    const open = tracker.gate();
    const asked = tracker.issuesByStates(['Todo'], signal);
    await tracker.called(1);

    tracker.move('A', 'Done');
    open();

    expect(ids(await asked)).toEqual(['A']);
    expect(ids(await tracker.issuesByStates(['Todo'], signal))).toEqual([]);
  });

  test('rejects an aborted request', async () => {
    const tracker = new MemoryTracker();
    tracker.gate();
    const given = new AbortController();
    const asked = tracker.issuesByIds([], given.signal);

    given.abort();

    await expect(asked).rejects.toMatchObject({ code: 'tracker_request' });
  });

  test('returns its rate limit', async () => {
    const tracker = new MemoryTracker();
    tracker.rateLimit = { remaining: 3, resetAtMs: 9 };

    expect(await tracker.issuesByIds([], signal)).toMatchObject({ rateLimit: { remaining: 3, resetAtMs: 9 } });
  });
});
