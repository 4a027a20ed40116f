import { existsSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { withTaskLock } from '../../../src/tracker/local/write.js';
import { tempFolder } from '../../runner/workspace/temp-folder.js';

test('a board that is away is not made anew by who wants to change a task: all of its issues would be gone', async () => {
  const folder = join(await tempFolder(), 'backlog');

  const change = withTaskLock({ folder, taskId: 'TASK-1', timeoutMs: 0 }, async () => {});

  await expect(change).rejects.toMatchObject({ code: 'ENOENT' });
  expect(existsSync(folder)).toBe(false);
});

test('the lock is taken in a folder of its own, and given back', async () => {
  const folder = join(await tempFolder(), 'backlog');
  await mkdir(folder);
  let during: string[] = [];

  const isFree = await withTaskLock({ folder, taskId: 'TASK-1', timeoutMs: 0 }, async () => {
    during = await readdir(join(folder, '.locks'));
  });

  expect(isFree).toBe(true);
  expect(during).toEqual(['task-task-1']);
  expect(await readdir(join(folder, '.locks'))).toEqual([]);
});
