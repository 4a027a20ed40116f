import { chmod, mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openStateDir } from '../src/state-dir.js';
import { tempFolder } from './runner/workspace/temp-folder.js';
import { asOrdinaryUser } from './support/as-ordinary-user.js';

test('a folder that others use is not made our own', async () => {
  const dir = await tempFolder();
  await writeFile(join(dir, 'theirs'), '');
  await chmod(dir, 0o777);

  await expect(openStateDir(dir)).rejects.toMatchObject({ code: 'store_failed' });

  expect((await stat(dir)).mode & 0o777).toBe(0o777);
  expect(await readdir(dir)).toEqual(['theirs']);
});

test('an empty folder, a new one and our own are taken', async () => {
  const dir = await tempFolder();
  await chmod(dir, 0o755);

  const { path } = await openStateDir(dir);
  await openStateDir(dir);

  expect(path).toBe(dir);
  expect((await stat(dir)).mode & 0o777).toBe(0o700);
});

test('in a read-only folder nothing is made, and the error has advice', async () => {
  const base = await tempFolder();
  const closed = join(base, 'closed');
  await mkdir(closed, { mode: 0o555 });

  const opened = asOrdinaryUser(base, () => openStateDir(join(closed, 'state')));

  await expect(opened).rejects.toMatchObject({
    code: 'store_failed',
    message: expect.stringMatching(/closed\/state cannot be used: .*Choose another with --state-dir/),
  });
  expect(await readdir(closed)).toEqual([]);
});
