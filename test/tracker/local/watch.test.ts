import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Tracker } from '../../../src/domain/ports.js';
import { backlog, NEVER, task, tempDir, trackerIn } from './backlog-folder.js';

/** Counts the calls; `next` settles with the next one. */
async function watched(tracker: Tracker) {
  let count = 0;
  let tell = (): void => {};
  const errors: Error[] = [];
  await tracker.watch?.({
    onChange: () => {
      count += 1;
      tell();
    },
    onError: (error) => errors.push(error),
  });
  onTestFinished(() => tracker.close());
  const next = () =>
    new Promise<void>((resolve) => {
      tell = resolve;
    });
  return {
    errors,
    count: () => count,
    /** What `edit` does leads to a call. */
    async sees(edit: () => Promise<unknown>): Promise<void> {
      const called = next();
      await edit();
      await called;
    },
  };
}

test('edits are seen: written, renamed over, moved, removed', async () => {
  const { tracker, folder, write } = await backlog({ 'tasks/task-1 - A.md': task('TASK-1') });
  const { sees, errors } = await watched(tracker);
  const file = path.join(folder, 'tasks/task-1 - A.md');

  await sees(() => write('tasks/task-1 - A.md', task('TASK-1', { status: 'Done' })));
  await sees(async () => rename(await write('tasks/.new', task('TASK-1')), file));
  await sees(() => rename(file, path.join(folder, 'tasks/task-1 - B.md')));
  await sees(() => rm(path.join(folder, 'tasks/task-1 - B.md')));
  await sees(() => write('config.yml', 'statuses: [A]'));
  await sees(() => write('completed/task-2 - C.md', task('TASK-2')));
  await sees(() => write('completed/task-2 - C.md', task('TASK-2', { status: 'Done' })));
  await sees(() => write('archive/tasks/task-3 - C.md', task('TASK-3')));

  expect(errors).toEqual([]);
});

test('a burst of changes is one call or few, and the last change is never left out', async () => {
  const { tracker, write, issue } = await backlog();
  const { sees, count } = await watched(tracker);

  await sees(() =>
    Promise.all(Array.from({ length: 100 }, (_, i) => write(`tasks/task-${i} - A.md`, task(`TASK-${i}`)))),
  );

  expect(count()).toBeLessThan(20);
  expect((await issue('TASK-99')).id).toBe('TASK-99');
});

test('unfinished writes, hidden files and other folders cause no call', async () => {
  const { tracker, write, dir } = await backlog();
  const { sees, count } = await watched(tracker);

  await write('tasks/.baton-12.tmp', 'x');
  await write('tasks/.swp.md', 'x');
  await write('docs/doc-1.md', 'x');
  await writeFile(path.join(dir, 'other.txt'), 'x');
  await sees(() => write('tasks/task-1 - A.md', task('TASK-1')));

  expect(count()).toBe(1);
});

test("Baton's own change is reported as well", async () => {
  const { tracker } = await backlog({ 'tasks/task-1 - A.md': task('TASK-1') });
  const { sees } = await watched(tracker);

  await sees(() => tracker.update('TASK-1', { state: 'Done' }, NEVER));
});

test('the folder may be created, removed and created again', async () => {
  const dir = tempDir();
  const tracker = trackerIn(dir, { path: 'some/backlog' });
  const { sees, errors } = await watched(tracker);
  const folder = path.join(dir, 'some/backlog');

  for (let round = 0; round < 2; round++) {
    await sees(() => mkdir(path.join(folder, 'tasks'), { recursive: true }));
    await untilSettled(sees, folder, round);
    await sees(() => writeFile(path.join(folder, 'tasks/task-1 - A.md'), task('TASK-1')));
    await sees(() => rm(folder, { recursive: true }));
  }

  expect(errors).toEqual([]);
});

test('a closed watch makes no calls', async () => {
  const { tracker, write, all } = await backlog();
  const { count } = await watched(tracker);

  await write('tasks/task-1 - A.md', task('TASK-1'));
  await tracker.close();
  const before = count();
  await write('tasks/task-2 - A.md', task('TASK-2'));
  await all();

  expect(count()).toBe(before);
});

/** Folders made one within the other are found one after the other: writes until a write is seen. */
async function untilSettled(sees: (edit: () => Promise<unknown>) => Promise<void>, folder: string, round: number) {
  const probe = path.join(folder, `tasks/task-9 - P.md`);
  const timer = setInterval(() => void writeFile(probe, task('TASK-9', { title: `${round}` })).catch(() => {}), 50);
  try {
    await sees(async () => {});
  } finally {
    clearInterval(timer);
  }
}
