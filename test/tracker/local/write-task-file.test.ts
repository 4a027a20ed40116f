import { execFileSync } from 'node:child_process';
import { mkdir, open, readdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { readTaskFile } from '../../../src/tracker/local/task-files.js';
import { replaceTaskFile } from '../../../src/tracker/local/write.js';
import { backlog } from './backlog-folder.js';
import { FULL_TASK } from './written-by-backlog.js';

const NAME = 'tasks/task-1 - First.md';

test.each([
  ['a FIFO', (file: string) => execFileSync('mkfifo', [file])],
  ['a symlink to the same text', (file: string) => execFileSync('ln', ['-s', `${file}.old`, file])],
  ['a folder', (file: string) => mkdir(file)],
  ['more of the same', (file: string) => writeFile(file, `${FULL_TASK}x`)],
])('%s in the place of the file is not waited for and not replaced', async (_, make) => {
  const board = await backlog({ [NAME]: FULL_TASK });
  const file = path.join(board.folder, NAME);
  const { bytes, stats } = (await readTaskFile(file)) as NonNullable<Awaited<ReturnType<typeof readTaskFile>>>;
  await rename(file, `${file}.old`);
  await make(file);

  expect(await replaceTaskFile(file, { expected: bytes, stats, content: Buffer.from('ours') })).toBe(false);
});

test('what an editor writes into the file while it is being replaced is not lost', async () => {
  const board = await backlog({ [NAME]: FULL_TASK });
  const file = path.join(board.folder, NAME);
  const { bytes, stats } = (await readTaskFile(file)) as NonNullable<Awaited<ReturnType<typeof readTaskFile>>>;
  const editor = await open(file, 'r+');
  onTestFinished(() => editor.close());

  const replacing = replaceTaskFile(file, { expected: bytes, stats, content: Buffer.from('ours') });
  while ((await board.read(NAME)) !== 'ours') await nextTurn();
  await editor.write('theirs', 0);

  expect(await replacing).toBe(false);
  expect(await board.read(NAME)).toBe(`theirs${FULL_TASK.slice('theirs'.length)}`);
  expect(await readdir(path.join(board.folder, 'tasks'))).toEqual(['task-1 - First.md']);
});
