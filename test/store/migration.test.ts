import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { expect, test } from 'vitest';
import { MIGRATIONS } from '../../src/store/migrations.js';
import { tempFolder } from '../runner/workspace/temp-folder.js';
import { issue } from '../support/builders.js';
import { openStore } from './open-store.js';

/** Claims as version 1 wrote them. */
const base = { failures: 2, idleRuns: 1, suspect: false };
const run = {
  runId: 'r-1',
  number: 3,
  reason: 'retry',
  attempt: 2,
  startedAtMs: 5,
  hash: 'h',
  threadId: 't1',
  resume: null,
  probe: false,
};
const waiting = {
  kind: 'waiting',
  sinceMs: 1,
  dueAtMs: 9,
  reason: 'resumed',
  attempt: 2,
  error: null,
  baseline: null,
  foundIdle: false,
  resume: null,
};
const parked = {
  kind: 'parked',
  reason: 'unkillable',
  sinceMs: 1,
  message: 'm',
  hash: 'h',
  question: null,
  threadId: null,
};

test('a file of version 1 is migrated to the current version without loss', async () => {
  const dir = await tempFolder();
  const db = new DatabaseSync(join(dir, 'baton.db'));
  db.exec(`${MIGRATIONS[0]}; PRAGMA user_version = 1`);
  const put = (table: string, key: string, name: string, value: unknown) =>
    db.prepare(`INSERT INTO ${table} (${key}, json) VALUES (?, ?)`).run(name, JSON.stringify(value));
  put('claims', 'issue_id', 'A', { ...base, issue: issue('A'), status: { kind: 'running', run } });
  put('claims', 'issue_id', 'B', { ...base, issue: issue('B'), status: waiting });
  put('claims', 'issue_id', 'C', { ...base, issue: issue('C'), status: { ...parked, run } });
  put('claims', 'issue_id', 'D', { ...base, issue: issue('D'), status: { ...parked, run: null } });
  put('records', 'issue_id', 'A', { runs: 3, tokens: 70, budgetFrom: 0, threads: [] });
  put('meta', 'name', 'daemon', { pausedSinceMs: 4, ledger: { day: '2026-03-04', tokens: 70 } });
  put('owners', 'workspace_key', 'A', { key: 'A', scope: 's', issueId: 'A', identifier: 'A' });
  db.close();

  const { store, warnings } = await openStore(dir);
  const { claims, records, pausedSinceMs, ledger } = await store.load();

  expect(warnings).toEqual([]);
  expect(claims.A?.status).toMatchObject({
    kind: 'running',
    run: { ...run, questions: [], answered: null, requestedAfterExit: null, account: { turns: 0 } },
  });
  expect(claims.B?.daemonDeaths).toBe(0);
  expect(claims.B?.status).toEqual({ ...waiting, cause: 'retry' });
  expect(claims.C?.status).toMatchObject({ kind: 'parked', run: { ...run, questions: [] } });
  expect(claims.D?.status).toEqual({ ...parked, run: null });
  expect(records.A?.runs).toBe(3);
  expect(pausedSinceMs).toBe(4);
  expect(ledger['2026-03-04']?.tokens).toBe(70);
  expect(await store.formerOwners.all()).toEqual([{ key: 'A', scope: 's', issueId: 'A', identifier: 'A' }]);
  await store.formerOwners.clear();
  expect(await store.formerOwners.all()).toEqual([]);
  expect(await store.openRuns.all()).toEqual([]);
});
