import { rename, rm, stat, utimes } from 'node:fs/promises';
import path from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { TaskFiles } from '../../../src/tracker/local/task-files.js';
import { backlog, NEVER, task } from './backlog-folder.js';

const ONE = { 'tasks/task-1 - A.md': task('TASK-1') };

test('the issue of a missing file is unknown for ten seconds, then gone', async () => {
  const { all, byIds, pass, folder } = await backlog(ONE);
  await all();
  await rm(path.join(folder, 'tasks/task-1 - A.md'));

  expect((await byIds('TASK-1')).unknown).toEqual(['TASK-1']);
  pass(9_999);
  expect((await byIds('TASK-1')).unknown).toEqual(['TASK-1']);
  pass(1);
  expect(await byIds('TASK-1')).toMatchObject({ issues: [], unknown: [] });
});

test('a file that comes back restarts the ten seconds', async () => {
  const { all, byIds, pass, write, folder } = await backlog(ONE);
  await all();
  const file = path.join(folder, 'tasks/task-1 - A.md');
  await rm(file);
  await byIds('TASK-1');
  pass(9_000);
  await write('tasks/task-1 - B.md', task('TASK-1'));
  expect((await byIds('TASK-1')).issues).toHaveLength(1);
  await rm(path.join(folder, 'tasks/task-1 - B.md'));
  await byIds('TASK-1');
  pass(9_000);

  expect((await byIds('TASK-1')).unknown).toEqual(['TASK-1']);
});

test('an issue that is gone for an hour is forgotten', async () => {
  const { all, byIds, pass, folder } = await backlog(ONE);
  await all();
  await rm(path.join(folder, 'tasks/task-1 - A.md'));
  await all();
  pass(3_600_001);
  expect((await byIds('TASK-1')).unknown).toEqual(['TASK-1']);
  pass(10_000);

  expect((await byIds('TASK-1')).unknown).toEqual([]);
});

test('an id that was never seen is unknown for ten seconds, then gone for good', async () => {
  const { byIds, pass } = await backlog();
  expect((await byIds('TASK-5')).unknown).toEqual(['TASK-5']);
  pass(10_000);

  expect((await byIds('TASK-5')).unknown).toEqual([]);
  expect((await byIds('TASK-5')).unknown).toEqual([]);
});

test.each([
  ['its name', 'task-1 - Other.md', ''],
  ['its text', 'other.md', '---\nid: task-1\ntit'],
  ['the path that held it', 'strange.md', ''],
])('the issue of a half-written file, known by %s, stays unknown', async (_, name, text) => {
  const { all, byIds, pass, write, folder } = await backlog({
    'tasks/strange.md': task('TASK-1'),
    'tasks/task-2 - B.md': task('TASK-2'),
  });
  await all();
  await rm(path.join(folder, 'tasks/strange.md'));
  await rm(path.join(folder, 'tasks/task-2 - B.md'));
  await write(`tasks/${name}`, text);
  await all();
  pass(60_000);

  expect((await byIds('TASK-1', 'TASK-2')).unknown).toEqual(['TASK-1']);
});

test('a file without an id makes every missing issue unknown', async () => {
  const { all, byIds, pass, write, folder } = await backlog(ONE);
  await all();
  await rm(path.join(folder, 'tasks/task-1 - A.md'));
  await write('tasks/strange.md', 'half');
  await all();
  pass(60_000);

  expect((await byIds('TASK-1')).unknown).toEqual(['TASK-1']);
});

test('two files with one id are reported and are not issues', async () => {
  const { all, byIds, folder } = await backlog({
    'tasks/task-1 - A.md': task('TASK-1'),
    'completed/task-1 - B.md': task('task-01'),
    'tasks/task-2 - C.md': task('TASK-2'),
  });

  const { issues, problems } = await all();

  expect(issues.map(({ id }) => id)).toEqual(['TASK-2']);
  expect(problems).toEqual([
    expect.stringMatching(
      `^${path.join(folder, 'tasks/task-1 - A.md')}: has the id TASK-1, and so has ${path.join(folder, 'completed/task-1 - B.md')}`,
    ),
  ]);
  expect((await byIds('TASK-1')).unknown).toEqual(['TASK-1']);
});

test('a change that keeps size and time of a file is seen', async () => {
  const { issue, write, folder } = await backlog(ONE);
  const file = path.join(folder, 'tasks/task-1 - A.md');
  await utimes(file, 1_000, 1_000);
  const { size } = await stat(file);
  letFilesSettle();
  await issue('TASK-1');
  const other = await write('tasks/new.tmp', task('TASK-1', { status: 'Done!' }));
  await utimes(other, 1_000, 1_000);
  await rename(other, file);

  expect((await stat(file)).size).toBe(size);
  expect((await issue('TASK-1')).state).toBe('Done!');
});

test('a file is parsed once, but a fresh file again', async () => {
  const { folder } = await backlog(ONE);
  const files = new TaskFiles();
  const read = async () => (await files.read(path.join(folder, 'tasks'), NEVER))[0]?.task;

  expect(await read()).not.toBe(await read());
  letFilesSettle();
  expect(await read()).toBe(await read());
});

test('many changes in one moment are all seen', async () => {
  const { issue, write } = await backlog(ONE);

  for (let i = 0; i < 50; i++) {
    const title = `Title ${10 + i}`;
    await write('tasks/task-1 - A.md', task('TASK-1', { title }));
    expect((await issue('TASK-1')).title).toBe(title);
  }
});

/** Moves the wall clock, and nothing else, past the time in which a file counts as fresh. */
function letFilesSettle(): void {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 });
  onTestFinished(() => {
    vi.useRealTimers();
  });
}
