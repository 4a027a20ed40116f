import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, open, readdir, rename, rm, rmdir, stat, utimes, writeFile } from 'node:fs/promises';
import path, { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { IssueChange } from '../../../src/domain/ports.js';
import { readTaskFile } from '../../../src/tracker/local/task-files.js';
import { replaceTaskFile, withTaskLock } from '../../../src/tracker/local/write.js';
import { tempFolder } from '../../runner/workspace/temp-folder.js';
import { asOrdinaryUser } from '../../support/as-ordinary-user.js';
import { type Backlog, backlog, NEVER, task, trackerIn } from './backlog-folder.js';
import { CONFIG, EMPTY_TASK, FULL_TASK } from './written-by-backlog.js';

const NAME = 'tasks/task-1 - First.md';
const update = ({ tracker }: Backlog, change: IssueChange, id = 'TASK-1') => tracker.update(id, change, NEVER);
/** Without what depends on the time of the test. */
const dated = (text: string) => text.replace(/\d{4}-\d\d-\d\d \d\d:\d\d/g, 'DATE');

describe('moving', () => {
  test('only the status and the date of the change are written', async () => {
    const board = await backlog({ [NAME]: FULL_TASK });

    expect(await update(board, { state: 'done' })).toEqual({ state: 'Done' });

    const written = await board.read(NAME);
    expect(dated(written)).toBe(dated(FULL_TASK.replace('status: In Progress', 'status: Done')));
    expect(written).not.toContain("updated_date: '2026-11-16 04:26'");
    expect((await board.issue('TASK-1')).state).toBe('Done');
  });

  test('the first updated_date follows created_date', async () => {
    const board = await backlog({ 'tasks/task-2 - Second.md': EMPTY_TASK });

    await update(board, { state: 'In Progress' }, 'TASK-2');

    const today = new Date().toISOString().slice(0, 10);
    expect(await board.read('tasks/task-2 - Second.md')).toMatch(
      new RegExp(`^created_date: '2026-11-16 04:25'\nupdated_date: '${today} \\d\\d:\\d\\d'\nlabels`, 'm'),
    );
  });

  test('a state is a status of the board or of the workflow, in its spelling', async () => {
    const board = await backlog({ [NAME]: FULL_TASK, 'config.yml': CONFIG });

    expect(await update(board, { state: ' REVIEW' })).toEqual({ state: 'Review' });
    expect(await update(board, { state: 'dropped' })).toEqual({ state: 'Dropped' });
    await expect(update(board, { state: 'Almost' })).rejects.toMatchObject({
      code: 'tracker_refused',
      message: '"Almost" is not a state of this backlog. Use one of: To Do, In Progress, Review, Done, Dropped.',
    });
  });

  test('an issue in the target state is not written', async () => {
    const board = await backlog({ [NAME]: FULL_TASK });

    expect(await update(board, { state: 'IN PROGRESS' })).toEqual({ state: 'In Progress' });

    expect(await board.read(NAME)).toBe(FULL_TASK);
  });

  test('a completed task can be commented, but not moved', async () => {
    const board = await backlog({ 'completed/task-1 - A.md': task('TASK-1', { status: 'Done' }) });

    await expect(update(board, { state: 'To Do', comment: 'x' })).rejects.toMatchObject({ code: 'tracker_refused' });
    expect(await update(board, { state: 'done', comment: 'still' })).toEqual({ state: 'Done' });

    expect((await board.issue('TASK-1')).comments.map(({ body }) => body)).toEqual(['still']);
  });

  test.each([
    ['is gone', {}],
    ['has two files', { 'tasks/a.md': task('TASK-1'), 'tasks/b.md': task('TASK-1') }],
    ['cannot be read', { 'tasks/task-1 - A.md': '---\nid: TASK-1\n' }],
  ])('an issue that %s is refused', async (_, files) => {
    const board = await backlog(files);

    await expect(update(board, { state: 'Done' })).rejects.toMatchObject({ code: 'tracker_refused' });
  });

  test('a file whose other values depend on the status is refused and unchanged', async () => {
    const text = '---\nid: TASK-1\nstatus: &s To Do\ntitle: *s\n---\n';
    const board = await backlog({ [NAME]: text });

    await expect(update(board, { state: 'Done' })).rejects.toMatchObject({
      code: 'tracker_refused',
      message: expect.stringContaining('by hand'),
    });
    expect(await board.read(NAME)).toBe(text);
  });
});

describe('concurrent changes', () => {
  test('concurrent changes are all kept', async () => {
    const board = await backlog({ [NAME]: FULL_TASK });
    const words = Array.from({ length: 8 }, (_, i) => `word ${i}`);

    await Promise.all(words.map((comment) => update(board, { comment })));

    const { comments } = await board.issue('TASK-1');
    expect(comments.map(({ body }) => body)).toEqual(expect.arrayContaining(words));
    expect(await readdir(path.join(board.folder, 'tasks'))).toEqual(['task-1 - First.md']);
    expect(await readdir(path.join(board.folder, '.locks'))).toEqual([]);
  });

  test('two trackers on the same folder lose no change', async () => {
    const board = await backlog({ [NAME]: FULL_TASK });
    const other = trackerIn(board.dir, {});
    const words = Array.from({ length: 6 }, (_, i) => `word ${i}`);

    await Promise.all(words.map((comment, i) => (i % 2 ? other : board.tracker).update('TASK-1', { comment }, NEVER)));

    const { comments } = await board.issue('TASK-1');
    expect(comments.map(({ body }) => body)).toEqual(expect.arrayContaining(words));
  });

  test('a file that changed since it was read is not replaced, and nothing is left behind', async () => {
    const board = await backlog({ [NAME]: FULL_TASK });
    const file = path.join(board.folder, NAME);
    const { bytes, stats } = (await readTaskFile(file)) ?? expect.fail();
    const theirs = FULL_TASK.replace('Line one', 'Line 1');
    await board.write(NAME, theirs);

    const replaced = await replaceTaskFile(file, { expected: bytes, stats, content: Buffer.from('ours') });

    expect(replaced).toBe(false);
    expect(await board.read(NAME)).toBe(theirs);
    expect(await readdir(path.join(board.folder, 'tasks'))).toEqual(['task-1 - First.md']);
  });

  test('a task that Backlog.md has locked is written after the release', async () => {
    const board = await backlog({ [NAME]: FULL_TASK, 'tasks/task-2 - Second.md': EMPTY_TASK });
    const lock = path.join(board.folder, '.locks/task-task-1');
    await mkdir(lock, { recursive: true });
    let isWritten = false;

    const updating = update(board, { state: 'Done' }).then(() => {
      isWritten = true;
    });
    // Two changes that begin later and are over: without a lock this one would be, too.
    await update(board, { state: 'Done' }, 'TASK-2');
    await update(board, { state: 'To Do' }, 'TASK-2');
    expect(isWritten).toBe(false);
    expect(await board.read(NAME)).toBe(FULL_TASK);
    await rmdir(lock);
    await updating;

    expect((await board.issue('TASK-1')).state).toBe('Done');
  });

  test.each([
    ['TASK-1', 'task-task-1'],
    ['TASK-007', 'task-task-007'],
    ['5', 'task-task-5'],
  ])('the lock of %s is called %s; an abandoned one is removed', async (id, name) => {
    const board = await backlog({ 'tasks/a.md': task(id) });
    const lock = path.join(board.folder, '.locks', name);
    await mkdir(lock, { recursive: true });
    await utimes(lock, 1, 1);

    expect(await update(board, { state: 'Done' }, id)).toEqual({ state: 'Done' });

    expect(await readdir(path.join(board.folder, '.locks'))).toEqual([]);
  });

  test('a briefly missing file is waited for', async () => {
    const board = await backlog({ [NAME]: FULL_TASK });
    await board.all();
    await rm(path.join(board.folder, NAME));

    const updating = update(board, { state: 'Done' });
    await board.all();
    await board.write('tasks/task-1 - Renamed.md', FULL_TASK);
    await updating;

    expect(await board.read('tasks/task-1 - Renamed.md')).toContain('status: Done');
  });
});

test('the rights of the file are kept', async () => {
  const board = await backlog({ [NAME]: FULL_TASK });
  await chmod(path.join(board.folder, NAME), 0o640);

  await update(board, { state: 'Done' });

  expect((await stat(path.join(board.folder, NAME))).mode & 0o7777).toBe(0o640);
});

test('a read-only folder is an error and leaves no files', async () => {
  const board = await backlog({ [NAME]: FULL_TASK });
  await chmod(board.folder, 0o755);
  await chmod(path.join(board.folder, 'tasks'), 0o755);
  await mkdir(path.join(board.folder, '.locks'));
  await chmod(path.join(board.folder, '.locks'), 0o555);
  await chmod(path.join(board.folder, 'tasks'), 0o555);
  // Else it cannot be cleaned up.
  onTestFinished(() => chmod(path.join(board.folder, 'tasks'), 0o755));

  const updating = asOrdinaryUser(board.dir, () => update(board, { state: 'Done' }));

  await expect(updating).rejects.toMatchObject({
    code: 'tracker_request',
    message: expect.stringMatching(/could not be written \(EACCES\).*Check rights/),
  });
  expect(await readdir(path.join(board.folder, 'tasks'))).toEqual(['task-1 - First.md']);
});

test('close waits for current writes and refuses later ones', async () => {
  const board = await backlog({ [NAME]: FULL_TASK });
  const updating = update(board, { state: 'Done' });

  await board.tracker.close();

  expect(await board.read(NAME)).toContain('status: Done');
  await updating;
  await expect(update(board, { state: 'To Do' })).rejects.toMatchObject({ code: 'tracker_request' });
});

test('new states of the settings count at once', async () => {
  const { dir, folder, write } = await backlog({ 'tasks/task-1 - A.md': task('TASK-1') });
  await write('completed/task-2 - B.md', task('TASK-2', { status: 'Whatever' }));
  let states = { activeStates: ['To Do'], terminalStates: ['Done'] };
  const tracker = trackerIn(
    dir,
    { path: folder },
    () => 0,
    () => states,
  );
  onTestFinished(() => tracker.close());
  await expect(tracker.update('TASK-1', { state: 'Review' }, NEVER)).rejects.toThrow('not a state of this backlog');

  states = { activeStates: ['To Do', 'Review'], terminalStates: ['Shipped'] };

  expect(await tracker.update('TASK-1', { state: 'review' }, NEVER)).toEqual({ state: 'Review' });
  expect((await tracker.issuesByStates(['Shipped'], NEVER)).issues.map(({ id }) => id)).toEqual(['TASK-2']);
});

test.each([
  ['a FIFO', (file: string) => execFileSync('mkfifo', [file])],
  ['a symlink to the same text', (file: string) => execFileSync('ln', ['-s', `${file}.old`, file])],
  ['a folder', (file: string) => mkdir(file)],
  ['more of the same', (file: string) => writeFile(file, `${FULL_TASK}x`)],
])('%s in place of the file is neither waited for nor replaced', async (_, make) => {
  const board = await backlog({ [NAME]: FULL_TASK });
  const file = path.join(board.folder, NAME);
  const { bytes, stats } = (await readTaskFile(file)) as NonNullable<Awaited<ReturnType<typeof readTaskFile>>>;
  await rename(file, `${file}.old`);
  await make(file);

  expect(await replaceTaskFile(file, { expected: bytes, stats, content: Buffer.from('ours') })).toBe(false);
});

test('an edit during the replacement is not lost', async () => {
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

test('a missing board is not created for a lock', async () => {
  const folder = join(await tempFolder(), 'backlog');

  const change = withTaskLock({ folder, taskId: 'TASK-1', timeoutMs: 0 }, async () => {});

  await expect(change).rejects.toMatchObject({ code: 'ENOENT' });
  expect(existsSync(folder)).toBe(false);
});

test('the lock is taken and released', async () => {
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
