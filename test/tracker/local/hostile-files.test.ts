import { execFileSync } from 'node:child_process';
import { chmod, mkdir, symlink, truncate } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { readTaskFile } from '../../../src/tracker/local/task-files.js';
import { asOrdinaryUser } from '../../support/as-ordinary-user.js';
import { backlog, task } from './backlog-folder.js';
import { FULL_TASK } from './written-by-backlog.js';

const BOMB = `${Array.from(
  { length: 30 },
  (_, i) =>
    `a${i}: &a${i} [${Array(9)
      .fill(i ? `*a${i - 1}` : 'x')
      .join(', ')}]`,
).join('\n')}`;

const STRANGE: [string, string, (file: string) => unknown][] = [
  ['a symlink to a file elsewhere', 'symlink', (file) => symlink('/etc/passwd', file)],
  ['a symlink to nowhere', 'symlink', (file) => symlink('nowhere', file)],
  ['a FIFO', 'not a regular file', (file) => execFileSync('mkfifo', [file])],
  ['a folder', 'is a folder', (file) => mkdir(file)],
];

test.each(STRANGE)('%s is reported with its path and not read', async (_, text, make) => {
  const { all, byIds, folder } = await backlog({ 'tasks/task-1 - A.md': task('TASK-1') });
  const file = path.join(folder, 'tasks/task-2 - B.md');
  await make(file);

  const { issues, problems } = await all();

  expect(issues.map(({ id }) => id)).toEqual(['TASK-1']);
  expect(problems).toEqual([expect.stringMatching(`^${file}: .*${text}.*Fix it or move it`)]);
  expect((await byIds('TASK-2', 'TASK-1')).unknown).toEqual(['TASK-2']);
});

test.each<[string, string, string | Buffer]>([
  ['invalid UTF-8', 'UTF-8', Buffer.concat([Buffer.from(task('TASK-2')), Buffer.from([0xff, 0xfe])])],
  ['a NUL byte', 'NUL', task('TASK-2', {}, 'a\0b')],
  ['nothing in it', '`---` line', ''],
  ['no closing line', 'closing', '---\nid: TASK-2\nti'],
  ['bad YAML', 'line 4', task('TASK-2', { title: '[' })],
  ['a list as front matter', 'not a map', '---\n- a\n---\n'],
  ['no status', 'status', '---\nid: TASK-2\ntitle: x\n---\n'],
  ['an empty title', 'title', task('TASK-2', { title: "' '" })],
  ['a key twice', 'twice', task('TASK-2', { '"status"': 'Done' })],
  ['an endlessly nested value', 'nested', task('TASK-2', { x: '['.repeat(20_000) })],
  ['compact nesting', 'nested', task('TASK-2', { x: `\n  ${'- '.repeat(20_000)}a` })],
  ['huge front matter', 'characters', task('TASK-2', { x: 'y'.repeat(100_000) })],
])('a file with %s is reported with its path', async (_, text, content) => {
  const { all, byIds, write } = await backlog({ 'tasks/task-1 - A.md': task('TASK-1') });
  const file = await write('tasks/task-2 - B.md', content);

  const { issues, problems } = await all();

  expect(issues.map(({ id }) => id)).toEqual(['TASK-1']);
  expect(problems).toEqual([expect.stringMatching(`^${file}: .*${text}`)]);
  expect((await byIds('TASK-2')).unknown).toEqual(['TASK-2']);
});

test('nested aliases are not expanded', async () => {
  const { issue } = await backlog({ 'tasks/task-1 - A.md': task('TASK-1', { x: `y\n${BOMB}\nlabels: *a29` }) });

  expect((await issue('TASK-1')).labels).toEqual([]);
});

test('a file of 100 MB is reported and not read', async () => {
  const { all, write } = await backlog();
  const file = await write('tasks/task-1 - A.md', task('TASK-1'));
  await truncate(file, 100_000_000);

  expect((await all()).problems).toEqual([expect.stringMatching(`^${file}: is larger than`)]);
});

test('a file that this user may not read is reported', async () => {
  const { all, write, dir, folder } = await backlog();
  const file = await write('tasks/task-1 - A.md', task('TASK-1'));
  await chmod(file, 0);
  await chmod(folder, 0o755);

  const { problems } = await asOrdinaryUser(dir, all);

  expect(problems).toEqual([expect.stringMatching(`^${file}: may not be read`)]);
});

test('CRLF and a byte order mark have no effect', async () => {
  const { issue, write } = await backlog({ 'tasks/task-1 - A.md': FULL_TASK });
  const plain = await issue('TASK-1');
  await write('tasks/task-1 - A.md', `\uFEFF${FULL_TASK.replaceAll('\n', '\r\n')}`);

  expect(await issue('TASK-1')).toEqual(plain);
});

test('READMEs, hidden files, unfinished writes and other extensions are ignored', async () => {
  const names = ['README.md', '.hidden.md', '.#task-1.md', '.baton-1.tmp', 'task-1.md~', 'notes.txt'];
  const { all } = await backlog(Object.fromEntries(names.map((name) => [`tasks/${name}`, 'x'])));

  expect(await all()).toEqual({ issues: [], unknown: [], problems: [] });
});

test('a file that becomes a symlink meanwhile is not followed', async () => {
  const { folder, write } = await backlog();
  const target = await write('tasks/task-1 - A.md', task('TASK-1'));
  await symlink(target, path.join(folder, 'link.md'));

  await expect(readTaskFile(path.join(folder, 'link.md'))).rejects.toThrow('symlink');
});
