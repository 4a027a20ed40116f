import { expect, test } from 'vitest';
import { changeHash } from '../../../orchestrator/hash.js';
import type { IssueChange } from '../../../src/domain/ports.js';
import { type Backlog, backlog, NEVER, task } from './backlog-folder.js';
import { EMPTY_TASK, FULL_TASK } from './written-by-backlog.js';

const NAME = 'tasks/task-1 - First.md';
const update = ({ tracker }: Backlog, change: IssueChange, id = 'TASK-1') => tracker.update(id, change, NEVER);
/** Without what depends on the time of the test. */
const dated = (text: string) => text.replace(/\d{4}-\d\d-\d\d \d\d:\d\d/g, 'DATE');

test('a comment is written where Backlog.md writes it', async () => {
  const board = await backlog({ [NAME]: FULL_TASK });

  expect(await update(board, { comment: 'It works.\n\n  - really' })).toEqual({ state: 'In Progress' });

  const entry = '\nauthor: baton\ncreated: DATE\n---\nIt works.\n\n  - really\n---\n';
  const expected = FULL_TASK.replace('<!-- COMMENTS:END -->', `${entry}<!-- COMMENTS:END -->`);
  expect(dated(await board.read(NAME))).toBe(dated(expected));
});

test('the first comment adds the section', async () => {
  const board = await backlog({ 'tasks/task-2 - Second.md': EMPTY_TASK });

  await update(board, { comment: 'Hello' }, 'TASK-2');

  const section =
    '## Comments\n\n<!-- COMMENTS:BEGIN -->\nauthor: baton\ncreated: DATE\n---\nHello\n---\n<!-- COMMENTS:END -->\n';
  const withDate = EMPTY_TASK.replace('labels: []', "updated_date: 'DATE'\nlabels: []");
  expect(dated(await board.read('tasks/task-2 - Second.md'))).toBe(dated(`${withDate}${section}`));
});

test('a comment does not change the issue', async () => {
  const board = await backlog({ [NAME]: FULL_TASK, 'tasks/task-2 - Second.md': EMPTY_TASK });
  const before = [await board.issue('TASK-1'), await board.issue('TASK-2')].map(changeHash);

  await update(board, { comment: 'a' });
  await update(board, { comment: 'b' }, 'TASK-2');

  expect([await board.issue('TASK-1'), await board.issue('TASK-2')].map(changeHash)).toEqual(before);
});

test.each([
  ['the end of the section', '<!-- COMMENTS:END -->'],
  ['the end of a comment', 'a\n---\nb'],
  ['front matter', '---\nid: TASK-9\nstatus: Done\n---'],
  ['a description', '## Description\n\n<!-- SECTION:DESCRIPTION:BEGIN -->\nforged\n<!-- SECTION:DESCRIPTION:END -->'],
  ['a heading of Backlog.md in a line', 'see ### Description\nforged'],
  ['ends of lines that only some know', 'a\u2028---\u2028b\r---\rc'],
  ['control characters', 'a\u0000\u001b[31m<\u0000!-- COMMENTS:END -->'],
  ['half a character', 'a\ud800'],
])('a comment cannot forge %s', async (_, comment) => {
  const board = await backlog({ [NAME]: FULL_TASK, 'tasks/task-2 - Second.md': EMPTY_TASK });
  const before = await board.issue('TASK-2');

  await update(board, { comment }, 'TASK-2');
  await update(board, { comment: 'next' }, 'TASK-2');

  const after = await board.issue('TASK-2');
  expect(after).toMatchObject({ id: 'TASK-2', state: before.state, description: null });
  expect(after.comments).toHaveLength(2);
  expect(after.comments[1]?.body).toBe('next');
  const text = await board.read('tasks/task-2 - Second.md');
  // These are what Backlog.md goes by, and what it refuses to write itself.
  expect(text.match(/<!--\s*(?:COMMENTS?|SECTION|AC|DOD):/gi)).toHaveLength(2);
  expect(text.match(/^---$/gm)).toHaveLength(6);
  expect(text).not.toMatch(/## Description/i);
});

test('a section in the old format gets comments in that format', async () => {
  const old =
    '\n## Comments\n\n<!-- COMMENTS:BEGIN -->\n<!-- COMMENT:BEGIN -->\nindex: 1\nauthor: @a\ncreated: 2026-01-01 10:00\n\nfirst\n<!-- COMMENT:END -->\n<!-- COMMENTS:END -->\n';
  const board = await backlog({ [NAME]: task('TASK-1', {}, old) });

  await update(board, { comment: 'one\n\ntwo' });

  expect((await board.issue('TASK-1')).comments.map(({ author, body }) => [author, body])).toEqual([
    ['@a', 'first'],
    ['baton', 'one\n\ntwo'],
  ]);
});

test('an unclosed comment is closed first', async () => {
  const open = '\n## Comments\n\n<!-- COMMENTS:BEGIN -->\nauthor: @a\n---\nfirst\n<!-- COMMENTS:END -->\n';
  const board = await backlog({ [NAME]: task('TASK-1', {}, open) });

  await update(board, { comment: 'second' });

  expect((await board.issue('TASK-1')).comments.map(({ body }) => body)).toEqual(['first', 'second']);
});

test('a comment that would make the file too large to be read is refused', async () => {
  const text = task('TASK-1', {}, `\n${'x'.repeat(990_000)}\n`);
  const board = await backlog({ [NAME]: text });

  await expect(update(board, { comment: 'y'.repeat(20_000) })).rejects.toMatchObject({ code: 'tracker_refused' });
  expect(await board.read(NAME)).toBe(text);
});

test('a comment without text is refused', async () => {
  const board = await backlog({ [NAME]: FULL_TASK });

  await expect(update(board, { comment: '\u0000 ' })).rejects.toMatchObject({ code: 'tracker_refused' });
});
