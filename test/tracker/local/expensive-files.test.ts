import { expect, test } from 'vitest';
import { harmlessComment } from '../../../src/tracker/local/sections.js';
import { growthOf } from '../../support/growth.js';
import { backlog, task } from './backlog-folder.js';

test.each<[string, (count: number) => string]>([
  ['begin markers of comments', (count) => '<!-- COMMENTS:BEGIN -->\n'.repeat(count)],
  ['headings of comments that never end', (count) => '## Comments\n<!-- COMMENTS:BEGIN -->\n'.repeat(count)],
  ['begin markers of criteria, and one end', (count) => `${'<!-- AC:BEGIN -->\n'.repeat(count)}<!-- AC:END -->\n`],
  [
    'old comments that never end',
    (count) =>
      `## Comments\n<!-- COMMENTS:BEGIN -->\n${'<!-- COMMENT:BEGIN -->\n'.repeat(count)}<!-- COMMENTS:END -->\n`,
  ],
])('a file of only %s is read in linear time', async (_, body) => {
  const read = async (count: number) => {
    const { issue } = await backlog({ 'tasks/task-1 - A.md': task('TASK-1', {}, body(count)) });
    return () => issue('TASK-1');
  };

  expect(await growthOf(read, 4_000)).toBeLessThan(10);
});

test('a comment of only # is written in linear time', async () => {
  const write = async (count: number) => () => harmlessComment('#'.repeat(count));

  expect(await growthOf(write, 50_000)).toBeLessThan(10);
});

test.each([
  ['more aliases than anybody needs', { a: '&a x', labels: `[${'*a ,'.repeat(6_000)}]` }, 'more than 500 labels'],
  ['a long text many times', { a: `&a ${'x'.repeat(9_000)}`, labels: `[${'*a ,'.repeat(400)}]` }, 'labels of more'],
  ['thousands of dependencies', { dependencies: `[${'a,'.repeat(20_000)}]` }, 'more than 500 dependencies'],
])('%s are refused', async (_, fields: { [key: string]: string }, text) => {
  const { all } = await backlog({ 'tasks/task-1 - A.md': task('TASK-1', fields) });

  expect((await all()).problems).toEqual([expect.stringContaining(text)]);
});

test('an alias means the last anchor before it', async () => {
  const fields = { x: '&a one', labels: '[*a , two]', y: '&a three', dependencies: '*a' };
  const { issue } = await backlog({ 'tasks/task-1 - A.md': task('TASK-1', fields) });

  const { labels, blocked_by } = await issue('TASK-1');

  expect(labels).toEqual(['one', 'two']);
  expect(blocked_by.map(({ id }) => id)).toEqual(['THREE']);
});

test.each([
  ['blanks', 'TASK-2   ✓ finished'],
  ['control characters', '"TASK-2\\nTASK-3"'],
  ['control characters', '"TASK-2\\u202e"'],
  ['more than 100 characters', `TASK-${'9'.repeat(300)}`],
])('a task whose id has %s is not an issue', async (text, id) => {
  const { all } = await backlog({ 'tasks/x.md': task('TASK-1').replace('id: TASK-1', `id: ${id}`) });

  expect(await all()).toEqual({ issues: [], unknown: [], problems: [expect.stringContaining(text)] });
});

test.each([
  ['of 900 KB', `statuses: [${'x,'.repeat(450_000)}]`, 'more than 16384 characters'],
  ['with thousands of statuses', `statuses: [${'x,'.repeat(5_000)}]`, 'more than 100 statuses'],
  ['with a status as long as a page', `statuses: [${'x'.repeat(5_000)}]`, 'over 100 characters'],
])('settings of Backlog.md %s are reported, and the default statuses count', async (_, text, problem) => {
  const { all, tracker } = await backlog({ 'config.yml': text });

  expect((await all()).problems).toEqual([expect.stringContaining(problem)]);
  expect(tracker.states).toEqual(['To Do', 'In Progress', 'Done']);
});
