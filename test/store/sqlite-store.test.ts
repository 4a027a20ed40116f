import { chmod, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { expect, onTestFinished, test, vi } from 'vitest';
import { tempFolder } from '../runner/workspace/temp-folder.js';
import { asOrdinaryUser } from '../support/as-ordinary-user.js';
import { openStore } from './open-store.js';
import { describeStore } from './store-contract.js';
import { CLAIMS, change, parked, record } from './stored-samples.js';

describeStore('the store on disk', async () => (await openStore()).store);

test('the state is there after closing and opening again', async () => {
  const { dir, store } = await openStore();
  await store.write(change({ claims: CLAIMS, records: { A: record(4) }, pausedSinceMs: 5 }));
  const before = await store.load();
  await store.close();

  const again = await openStore(dir);

  expect(await again.store.load()).toEqual(before);
  expect(again.warnings).toEqual([]);
});

test('what is stored about issues is dropped when another tracker is used, and the history stays', async () => {
  const { dir, store } = await openStore();
  await store.write(change({ claims: CLAIMS, records: { A: record(4) }, pausedSinceMs: 5 }));

  const first = await store.useTracker('one');
  const again = await store.useTracker('one');
  const kept = Object.keys((await store.load()).claims).length;
  const other = await store.useTracker('two');
  await store.close();
  const next = await openStore(dir);

  expect([first, again, other]).toEqual([0, 0, kept]);
  expect(await next.store.load()).toMatchObject({ claims: {}, records: {}, pausedSinceMs: 5 });
  expect(await next.store.useTracker('two')).toBe(0);
  expect(next.warnings).toEqual([]);
});

test('a claim keeps the field names of older versions on disk', async () => {
  const { dir, store } = await openStore();
  await store.write(change({ claims: CLAIMS }));
  await store.close();
  const db = new DatabaseSync(join(dir, 'baton.db'));
  onTestFinished(() => db.close());

  const json = db
    .prepare('SELECT json FROM claims')
    .all()
    .map((row) => String(row.json))
    .join();

  for (const name of ['suspect', 'wish', 'heardAtMs']) expect(json).toContain(`"${name}":`);
  expect(json).not.toMatch(/failedAsProbe|requestedAfterExit|commentsReadAtMs/);
});

test('after closing, everything is in one file that only its user can read', async () => {
  const { dir, store } = await openStore();
  await store.write(change({ claims: CLAIMS }));
  for (const name of await readdir(dir)) expect((await stat(join(dir, name))).mode & 0o777, name).toBe(0o600);
  await store.close();
  await rm(join(dir, 'baton.db-wal'), { force: true });

  const again = await openStore(dir);

  expect((await again.store.load()).claims).toEqual(CLAIMS);
});

test('a change is written completely or not at all', async () => {
  const { store } = await openStore();
  await store.write(change({ claims: { A: parked('A') }, records: { A: record(1) } }));
  const before = await store.load();
  const circular: { self?: unknown } = {};
  circular.self = circular;

  const claims = { A: null, B: circular as never };
  await expect(store.write(change({ full: true, claims }))).rejects.toMatchObject({ code: 'store_failed' });

  expect(await store.load()).toEqual(before);
});

test('of several changes all are written or none', async () => {
  const { store } = await openStore();
  const circular: { self?: unknown } = {};
  circular.self = circular;

  const write = store.write(change({ records: { A: record(1) } }), change({ claims: { B: circular as never } }));
  await expect(write).rejects.toMatchObject({ code: 'store_failed' });

  expect((await store.load()).records).toEqual({});
});

test('the record of a run that is over is removed with the next write, by closing, or a moment later', async () => {
  const { dir, store } = await openStore();
  const db = new DatabaseSync(join(dir, 'baton.db'), { readOnly: true });
  onTestFinished(() => db.close());
  const stored = () => db.prepare('SELECT marker FROM open_runs').all().length;
  const run = (marker: string) => ({ marker, issueId: 'A', owesAfterRunIn: null, processes: [] });
  await store.openRuns.put(run('r1'), run('r2'), run('r3'));

  await store.openRuns.remove('r1');
  expect(stored()).toBe(3);
  await store.write(change({}));
  expect(stored()).toBe(2);
  await store.openRuns.remove('r2');
  await vi.waitFor(() => expect(stored()).toBe(1), 5_000);
  await store.openRuns.remove('r3');
  await store.close();

  expect(await (await openStore(dir)).store.openRuns.all()).toEqual([]);
});

test('the generated columns hold what people query', async () => {
  const { dir, store } = await openStore();
  await store.write(change({ claims: CLAIMS, records: { A: record(3) } }));
  const db = new DatabaseSync(join(dir, 'baton.db'), { readOnly: true });
  onTestFinished(() => db.close());

  const rows = db.prepare('SELECT identifier, kind, reason, due_at_ms, run_id, thread_id FROM claims').all();
  expect(rows.map((row) => Object.values(row))).toEqual([
    ['A', 'running', 'answer', null, 'run-1', 't1'],
    ['B', 'waiting', 'retry', 1_700_000_000_123.5, null, 't2'],
    ['C', 'parked', 'input_required', null, 'run-1', 't1'],
  ]);
  expect({ ...db.prepare('SELECT * FROM records').get() }).toMatchObject({ issue_id: 'A', runs: 3, tokens: 0 });
});

test('a row that cannot be read is set aside with a warning, and the others are loaded', async () => {
  const { dir, store } = await openStore();
  const hold = { code: 'low_disk', message: 'full', sinceMs: 1, tries: 0, untilMs: null, probed: [] } as const;
  await store.write(
    change({ claims: { A: parked('A'), B: parked('B') }, records: { A: record(1) }, holds: { disk: hold } }),
  );
  const db = new DatabaseSync(join(dir, 'baton.db'));
  db.exec(`UPDATE claims SET json = '{"half' WHERE issue_id = 'A'`);
  db.exec(`UPDATE claims SET issue_id = 'Z' WHERE issue_id = 'B'`);
  db.exec(`UPDATE records SET json = '{"runs":"many"}'`);
  db.exec(`UPDATE holds SET source = 'moon'`);
  db.exec(`UPDATE meta SET json = 'null'`);
  db.exec(`INSERT INTO owners (workspace_key, json) VALUES ('K', '[]')`);
  db.close();
  await store.close();

  const again = await openStore(dir);
  const loaded = await again.store.load();

  expect(await again.store.formerOwners.all()).toEqual([]);
  expect(loaded).toEqual({ claims: {}, records: {}, holds: {}, pausedSinceMs: null, ledger: {}, finished: [] });
  expect(again.warnings.map(({ message }) => /forgotten: (\w+ \w+) \(/.exec(message)?.[1])).toEqual([
    'meta daemon',
    'claims A',
    'claims Z',
    'records A',
    'holds moon',
    'owners K',
  ]);
  const kept = new DatabaseSync(join(dir, 'baton.db'));
  onTestFinished(() => kept.close());
  expect(kept.prepare(`SELECT json FROM unreadable WHERE row_key = 'A' AND from_table = 'claims'`).get()).toEqual(
    expect.objectContaining({ json: '{"half' }),
  );
  await again.store.load();
  expect(again.warnings).toHaveLength(6);
});

test('a file of a newer Baton is refused and not changed', async () => {
  const { dir, store } = await openStore();
  await store.close();
  const path = join(dir, 'baton.db');
  const db = new DatabaseSync(path);
  db.exec('PRAGMA user_version = 99; PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
  const { mtimeMs } = await stat(path);

  await expect(openStore(dir)).rejects.toThrow(/written by a newer Baton \(version 99/);

  expect((await stat(path)).mtimeMs).toBe(mtimeMs);
  expect((await readdir(dir)).filter((name) => name.includes('corrupt'))).toEqual([]);
});

test('a migration step is done completely or not at all', async () => {
  const dir = await tempFolder();
  const db = new DatabaseSync(join(dir, 'baton.db'));
  onTestFinished(() => db.close());
  db.exec('CREATE TABLE owners (theirs)');

  await expect(openStore(dir)).rejects.toMatchObject({ code: 'store_failed', message: /owners already exists/ });

  expect(
    db
      .prepare('SELECT name FROM sqlite_master')
      .all()
      .map((row) => row.name),
  ).toEqual(['owners']);
  expect({ ...db.prepare('PRAGMA user_version').get() }).toEqual({ user_version: 0 });
});

test('the store waits only a moment for another writer, and names it as the reason', async () => {
  const { dir, store } = await openStore();
  const other = new DatabaseSync(join(dir, 'baton.db'));
  onTestFinished(() => other.close());
  other.exec('BEGIN IMMEDIATE');

  const write = store.write(change({ records: { A: record(1) } }));
  await expect(write).rejects.toMatchObject({ code: 'store_failed', message: /Another process uses it/ });
  other.exec('ROLLBACK');
  await store.write(change({ records: { A: record(2) } }));

  expect((await store.load()).records.A).toEqual(record(2));
});

test('a folder that cannot be written is named', async () => {
  const dir = await tempFolder();
  const failure = await asOrdinaryUser(dir, async () => {
    await chmod(dir, 0o555);
    return openStore(dir).catch((error: Error) => error);
  });

  expect(failure).toMatchObject({
    code: 'store_failed',
    message: expect.stringContaining(`Make ${dir} and the files`),
  });
});

test('a file that is moved while in use is an error', async () => {
  const { dir, store } = await openStore();
  await store.write(change({ records: { A: record(1) } }));

  await rename(join(dir, 'baton.db'), join(dir, 'moved'));
  await expect(store.write(change({}))).rejects.toThrow(/was moved or deleted while Baton uses it/);
  await rename(join(dir, 'moved'), join(dir, 'baton.db'));
  await store.write(change({ records: { A: record(2) } }));

  expect((await store.load()).records.A).toEqual(record(2));
});
