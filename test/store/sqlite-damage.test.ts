import { readFileSync } from 'node:fs';
import { chmod, open, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { tempFolder } from '../runner/workspace/temp-folder.js';
import { asOrdinaryUser } from '../support/as-ordinary-user.js';
import { openStore } from './open-store.js';
import { change, parked, record } from './stored-samples.js';

const ASIDE = /^baton\.db\.corrupt-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z$/;

/** A folder with a closed store of 300 claims. */
async function folderWithStore(): Promise<{ readonly dir: string; readonly path: string }> {
  const { dir, store } = await openStore();
  const ids = Array.from({ length: 300 }, (_, index) => `AB-${index}`);
  await store.write(change({ claims: Object.fromEntries(ids.map((id) => [id, parked(id)])) }));
  await store.close();
  return { dir, path: join(dir, 'baton.db') };
}

async function overwrite(path: string, at: number, bytes: Buffer): Promise<void> {
  const file = await open(path, 'r+');
  await file.write(bytes, 0, bytes.length, at);
  await file.close();
}

test.each([
  ['text instead of a database', (path: string) => writeFile(path, 'this is no database\n'.repeat(500))],
  ['a torn header', (path: string) => overwrite(path, 0, Buffer.alloc(100, 7))],
  ['a cut end', async (path: string) => truncate(path, Math.floor((await stat(path)).size / 2))],
  ['garbage in the middle', async (path: string) => overwrite(path, 4096 * 8, Buffer.alloc(4096 * 20, 0xa5))],
])('%s is set aside unchanged with a warning, and a new file is created', async (_, damage) => {
  const { dir, path } = await folderWithStore();
  await damage(path);
  const damaged = await readFile(path);

  const { store, warnings } = await openStore(dir);

  const aside = (await readdir(dir)).filter((name) => ASIDE.test(name));
  expect(aside).toHaveLength(1);
  expect(readFileSync(join(dir, aside[0] ?? '')).equals(damaged)).toBe(true);
  expect(warnings).toEqual([
    { message: expect.stringContaining('begins with an empty state'), path: join(dir, aside[0] ?? '') },
  ]);
  await store.write(change({ records: { A: record(1) } }));
  expect(await store.load()).toMatchObject({ claims: {}, records: { A: record(1) } });
});

test('the companions of a damaged file are moved with it', async () => {
  const dir = await tempFolder();
  const path = join(dir, 'baton.db');
  for (const end of ['', '-wal', '-shm']) await writeFile(path + end, `no database${end}`.repeat(999));

  await openStore(dir);

  const aside = (await readdir(dir)).find((name) => ASIDE.test(name)) ?? '';
  for (const end of ['', '-wal']) {
    expect(await readFile(join(dir, aside + end), 'utf8')).toBe(`no database${end}`.repeat(999));
  }
  expect(await readdir(dir)).toContain(`${aside}-shm`);
});

test('a second damaged file does not replace the first', async () => {
  const dir = await tempFolder();
  for (const text of ['first', 'second']) {
    await writeFile(join(dir, 'baton.db'), text.repeat(999));
    const { store } = await openStore(dir);
    await store.close();
  }

  expect((await readdir(dir)).filter((name) => ASIDE.test(name))).toHaveLength(2);
});

test('a log whose database is gone is kept with a warning', async () => {
  const { dir, store } = await openStore();
  await store.write(change({ records: { A: record(1) } }));
  await rm(join(dir, 'baton.db'));

  const { warnings } = await openStore(dir);

  expect(warnings).toHaveLength(1);
  expect((await readdir(dir)).some((name) => /corrupt.*-wal$/.test(name))).toBe(true);
});

test('an empty file is a new database, without a warning', async () => {
  const dir = await tempFolder();
  await writeFile(join(dir, 'baton.db'), '');

  const { store, warnings } = await openStore(dir);
  await store.write(change({ records: { A: record(1) } }));

  expect(warnings).toEqual([]);
});

test('a damaged letter inside a row loses only that row', async () => {
  const { dir, path } = await folderWithStore();
  const at = (await readFile(path)).indexOf('{"issue":{"id":"AB-7"');
  await overwrite(path, at, Buffer.from('!'));

  const { store, warnings } = await openStore(dir);

  expect(Object.keys((await store.load()).claims)).toHaveLength(299);
  expect(warnings).toEqual([{ message: expect.stringContaining('claims AB-7'), path }]);
  const db = new DatabaseSync(path);
  onTestFinished(() => db.close());
  expect(db.prepare('SELECT * FROM claims').all()).toHaveLength(299);
});

test('a damaged file that cannot be set aside stays unchanged, and the error names the remedy', async () => {
  const dir = await tempFolder();
  await writeFile(join(dir, 'baton.db'), 'no database'.repeat(999));

  const failure = await asOrdinaryUser(dir, async () => {
    await chmod(dir, 0o555);
    return openStore(dir).catch((error: Error) => error);
  });
  await chmod(dir, 0o755);

  expect(failure).toMatchObject({
    code: 'store_failed',
    message: expect.stringContaining(`Make ${dir} and the files`),
  });
  expect(await readFile(join(dir, 'baton.db'), 'utf8')).toBe('no database'.repeat(999));
});
