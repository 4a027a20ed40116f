import { expect, test } from 'vitest';
import { pastSince } from '../../src/report/past-since.js';
import { openStore } from '../store/open-store.js';
import { change } from '../store/stored-samples.js';
import { finished, HOUR_MS, NOON_MS, run } from './report-samples.js';

const SINCE_MS = NOON_MS - 2 * HOUR_MS;

async function stored(part: Parameters<typeof change>[0]) {
  const { store } = await openStore();
  await store.write(change(part));
  return store.past;
}

test('a report is built from the runs and finished issues of its period, and earlier runs of issues that left in it', async () => {
  const early = run({ runId: 'early', startedAtMs: SINCE_MS - HOUR_MS, number: 2 });
  const earliest = run({ runId: 'earliest', startedAtMs: SINCE_MS - 5 * HOUR_MS });
  const other = run({ runId: 'other', issueId: 'B', startedAtMs: SINCE_MS - HOUR_MS });
  const inTime = run({ runId: 'in-time', issueId: 'C' });
  const past = await stored({ runs: [earliest, early, other, inTime], finished: [finished({ runs: 2 })] });

  const found = await pastSince(past, SINCE_MS);

  expect(found.runs.map(({ runId }) => runId)).toEqual(['in-time', 'early']);
  expect(found.finished.map(({ issueId }) => issueId)).toEqual(['A']);
  expect(found.last).toEqual({ identifier: 'C', startedAtMs: NOON_MS - HOUR_MS });
  expect(found.notes).toEqual([]);
});

test('an issue whose identifier is the id of another does not get its labels', async () => {
  const impostor = run({ issueId: 'B', identifier: 'A', startedAtMs: SINCE_MS - 1 });
  const past = await stored({ runs: [impostor], finished: [finished()] });

  expect((await pastSince(past, SINCE_MS)).runs).toEqual([]);
});

test('without runs in the period, the last run of all is known', async () => {
  const past = await stored({ runs: [run({ startedAtMs: 5 }), run({ startedAtMs: 9, issueId: 'B' })] });

  expect(await pastSince(past, SINCE_MS)).toMatchObject({ runs: [], last: { identifier: 'B', startedAtMs: 9 } });
  expect(await pastSince(await stored({}), SINCE_MS)).toMatchObject({ runs: [], last: null });
});

test('above the limit the newest runs are taken, with a note', async () => {
  const past = await stored({ runs: [1, 2, 3].map((n) => run({ runId: `r${n}`, startedAtMs: NOON_MS + n })) });

  const { runs, notes } = await pastSince(past, SINCE_MS, 2);

  expect(runs.map(({ runId }) => runId)).toEqual(['r3', 'r2']);
  expect(notes).toEqual([{ kind: 'newest_only', runs: 2 }]);
});
