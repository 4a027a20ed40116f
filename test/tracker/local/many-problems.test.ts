import { symlink } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { growthOf } from '../../support/growth.js';
import { backlog, task, tempDir } from './backlog-folder.js';

const many = (count: number, text: (i: number) => string) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`tasks/${i}.md`, text(i)]));

test('at most a hundred invalid files are reported, with the number of the others', async () => {
  const { all } = await backlog(many(150, () => 'rubbish'));

  const { problems } = await all();

  expect(problems).toHaveLength(101);
  expect(problems?.at(-1)).toBe('… and 50 more of the kind.');
});

test('of many files with one id some are named, with the number of the others', async () => {
  const { all } = await backlog(many(50, () => task('TASK-1')));

  const { issues, problems } = await all();

  expect(issues).toEqual([]);
  expect(problems).toEqual([expect.stringMatching(/\.md, 44 more\. Give one of them another id/)]);
});

test('unreadable files and missing dependencies take linear time', async () => {
  const ids = Array.from({ length: 120 }, (_, i) => `x-${i}`);
  const dependencies = `[${ids.join(', ')}]`;
  const lookAgain = async (count: number) => {
    const files = many(2 * count, (i) => (i < count ? 'rubbish' : task(`TASK-${i}`, { dependencies })));
    const { all, byIds } = await backlog(files);
    await all();
    // Asked for once, each of the dependencies is one that may still come.
    await byIds(...ids);
    return all;
  };

  expect(await growthOf(lookAgain, 40)).toBeLessThan(10);
});

test('a linked archive is not read and proves nothing gone', async () => {
  const { byIds, all, folder, write } = await backlog({ 'tasks/task-1 - A.md': task('TASK-1') });
  const elsewhere = tempDir();
  await symlink(elsewhere, path.join(folder, 'archive'));
  await write('archive/task-2 - B.md', task('TASK-2'));

  await all();

  expect((await byIds('TASK-2')).unknown).toEqual(['TASK-2']);
});
