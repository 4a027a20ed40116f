import { mkdir, rename, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { changeHash } from '../../../orchestrator/hash.js';
import { backlog, NEVER, task, tempDir, trackerIn } from './backlog-folder.js';
import { CONFIG, DRAFT, EMPTY_TASK, FULL_TASK, SUBTASK } from './written-by-backlog.js';

describe('files of Backlog.md', () => {
  test('a task becomes an issue, field by field', async () => {
    const { issue, folder } = await backlog({ 'tasks/task-1 - First.md': FULL_TASK });

    const found = await issue('TASK-1');

    expect(found).toEqual({
      id: 'TASK-1',
      identifier: 'TASK-1',
      title: 'First: "quoted" #1 title',
      description:
        'Line one\n\n## Heading\nmore\n\n## Acceptance Criteria\n\n- [ ] #1 works\n- [ ] #2 fast\n\n' +
        '## Definition of Done\n\n- [ ] #1 tests',
      priority: 2,
      state: 'In Progress',
      branch_name: null,
      url: null,
      assignee_id: '@sara',
      author: null,
      labels: ['a', 'bug'],
      blocked_by: [],
      comments: [
        { author: null, body: '## Implementation Plan\n\np', created_at: null },
        { author: null, body: '## Implementation Notes\n\nnn', created_at: null },
        { author: '@bot', body: 'hello\nworld', created_at: '2026-11-16T04:25:00.000Z' },
        { author: null, body: 'second, no author', created_at: '2026-11-16T04:26:00.000Z' },
        { author: null, body: '## Final Summary\n\nsum', created_at: null },
      ],
      dispatchable: true,
      held_back: null,
      native_ref: { file: path.join(folder, 'tasks/task-1 - First.md') },
      created_at: '2026-11-16T04:25:00.000Z',
      updated_at: '2026-11-16T04:26:00.000Z',
    });
  });

  test('subtasks are issues, drafts are not', async () => {
    const { all } = await backlog({ 'tasks/task-1.1 - Child.md': SUBTASK, 'drafts/draft-1 - Draft-one.md': DRAFT });

    const { issues, problems } = await all();

    expect(issues.map(({ id }) => id)).toEqual(['TASK-1.1']);
    expect(problems).toEqual([]);
  });

  test('the states are those of its settings, once they were read', async () => {
    const { tracker, all } = await backlog({ 'config.yml': CONFIG });
    expect(tracker.states).toEqual([]);

    await all();

    expect(tracker.states).toEqual(['To Do', 'In Progress', 'Review', 'Done']);
  });

  test.each([
    ['no settings at all', {}, ['To Do', 'In Progress', 'Done'], 0],
    ['settings that are no YAML', { 'config.yml': 'statuses: [' }, ['To Do', 'In Progress', 'Done'], 1],
    ['settings without statuses', { 'config.yaml': 'labels: []' }, ['To Do', 'In Progress', 'Done'], 0],
    ['settings beside the folder', { '../backlog.config.yml': 'statuses:\n  - A\n  - B' }, ['A', 'B'], 0],
  ])('with %s the states are known', async (_, files, states, problemCount) => {
    const { tracker, all } = await backlog(files);

    const { problems } = await all();

    expect(tracker.states).toEqual(states);
    expect(problems).toHaveLength(problemCount);
  });
});

describe('folders', () => {
  test('a task in completed is terminal, whatever its status', async () => {
    const { issue } = await backlog({
      'completed/task-4 - A.md': task('TASK-4', { status: 'In Progress' }),
      'completed/task-5 - B.md': task('TASK-5', { status: 'dropped' }),
    });

    expect((await issue('TASK-4')).state).toBe('Done');
    expect((await issue('TASK-5')).state).toBe('dropped');
  });

  test('an archived task is gone at once', async () => {
    const { all, byIds, folder } = await backlog({ 'tasks/task-1 - A.md': task('TASK-1') });
    await all();
    await mkdir(path.join(folder, 'archive/tasks'), { recursive: true });
    await rename(path.join(folder, 'tasks/task-1 - A.md'), path.join(folder, 'archive/tasks/task-1 - A.md'));

    expect(await byIds('TASK-1')).toMatchObject({ issues: [], unknown: [] });
  });

  test('a reused id is not gone because of the archived task', async () => {
    const { all, byIds, folder } = await backlog({
      'archive/tasks/task-1 - Old.md': task('TASK-1'),
      'tasks/task-1 - New.md': task('TASK-1'),
    });
    expect((await all()).issues).toHaveLength(1);
    await rm(path.join(folder, 'tasks/task-1 - New.md'));

    expect(await byIds('TASK-1')).toMatchObject({ issues: [], unknown: ['TASK-1'] });
  });

  test('a folder without tasks is empty, since git keeps no empty folders', async () => {
    const { all, folder } = await backlog({ 'config.yml': CONFIG });
    await rm(path.join(folder, 'tasks'), { recursive: true });

    expect(await all()).toEqual({ issues: [], unknown: [], problems: [] });
  });

  test.each([
    ['missing', async () => {}, 'does not exist'],
    ['no backlog', (folder: string) => mkdir(folder).then(() => {}), 'is not a backlog'],
  ])('a folder that is %s is an error with advice', async (_, make, text) => {
    const dir = tempDir();
    await make(path.join(dir, 'backlog'));
    const tracker = trackerIn(dir, {});

    const reading = tracker.issuesByStates(['To Do'], NEVER);

    await expect(reading).rejects.toMatchObject({
      code: 'tracker_request',
      message: expect.stringMatching(new RegExp(`${text}.*baton init.*tracker\\.provider\\.path`)),
    });
  });

  test('a folder of tasks that is a symlink is not followed', async () => {
    const { all, folder, dir } = await backlog();
    await rename(path.join(folder, 'tasks'), path.join(dir, 'elsewhere'));
    await symlink(path.join(dir, 'elsewhere'), path.join(folder, 'tasks'));

    await expect(all()).rejects.toMatchObject({ code: 'tracker_request', message: expect.stringContaining('symlink') });
  });

  test('a cancelled read ends', async () => {
    const { tracker } = await backlog({ 'tasks/task-1 - A.md': task('TASK-1') });

    const reading = tracker.issuesByStates(['To Do'], AbortSignal.abort());

    await expect(reading).rejects.toMatchObject({ code: 'tracker_request' });
  });
});

describe('fields', () => {
  test.each([
    ['critical', 1],
    ['Urgent', 1],
    ['high', 2],
    ['Medium', 3],
    ['low', 4],
    ['whatever', null],
  ])('priority %s is %s', async (priority, expected) => {
    const { issue } = await backlog({ 'tasks/task-1 - A.md': task('TASK-1', { priority }) });

    expect((await issue('TASK-1')).priority).toBe(expected);
  });

  test.each([
    ["'2026-11-16 04:25'", '2026-11-16T04:25:00.000Z'],
    ['2026-11-16', '2026-11-16T00:00:00.000Z'],
    ['2026-11-16T04:25:30+02:00', '2026-11-16T02:25:30.000Z'],
    ['16/11/26', '2026-11-16T00:00:00.000Z'],
    ['yesterday', null],
  ])('the date %s is read as UTC', async (created_date, expected) => {
    const { issue } = await backlog({ 'tasks/task-1 - A.md': task('TASK-1', { created_date }) });

    expect((await issue('TASK-1')).created_at).toBe(expected);
  });

  test('an assignee may begin with @', async () => {
    const { issue } = await backlog({ 'tasks/task-1 - A.md': task('TASK-1', { assignee: '@sara' }) });

    expect((await issue('TASK-1')).assignee_id).toBe('@sara');
  });

  test('ids are compared without case and leading zeros, and shown as written', async () => {
    const { byIds } = await backlog({ 'tasks/task-007 - A.md': task('task-007'), 'tasks/x.md': task('1.10') });

    const { issues } = await byIds('TASK-7', 'task-1.10');

    expect(issues.map(({ id, identifier }) => [id, identifier])).toEqual([
      ['TASK-7', 'task-007'],
      ['TASK-1.10', '1.10'],
    ]);
  });

  test('a dependency blocks with the state of its task; one that does not exist is reported', async () => {
    const { issue, all, folder } = await backlog({
      'tasks/task-1 - First.md': FULL_TASK,
      'tasks/task-2 - Second.md': EMPTY_TASK,
      'completed/task-3 - C.md': task('TASK-3'),
      'tasks/task-4 - D.md': task('TASK-4', { dependencies: '[task-3, 9]' }),
    });

    expect((await issue('TASK-2')).blocked_by).toEqual([{ id: 'TASK-1', identifier: 'TASK-1', state: 'In Progress' }]);
    expect((await issue('TASK-4')).blocked_by).toEqual([
      { id: 'TASK-3', identifier: 'TASK-3', state: 'Done' },
      { id: 'TASK-9', identifier: 'TASK-9', state: null },
    ]);
    expect((await all()).problems).toEqual([
      expect.stringMatching(`^${path.join(folder, 'tasks/task-4 - D.md')}: depends on 9, which does not exist`),
    ]);
  });

  test('a dependency whose file is half-written keeps the state that it had', async () => {
    const { issue, write } = await backlog({
      'tasks/task-1 - First.md': FULL_TASK,
      'tasks/task-2 - Second.md': EMPTY_TASK,
    });
    const before = await issue('TASK-2');
    await write('tasks/task-1 - First.md', FULL_TASK.slice(0, 30));

    const after = await issue('TASK-2');

    expect(changeHash(after)).toBe(changeHash(before));
  });

  test('a file without markers is all description', async () => {
    const body = '\nDo this.\n\n## Why\n\nBecause.\n';
    const { issue } = await backlog({ 'tasks/task-1 - A.md': task('TASK-1', {}, body) });

    expect((await issue('TASK-1')).description).toBe('Do this.\n\n## Why\n\nBecause.');
  });

  test('headings that a description quotes are part of it', async () => {
    const quoted = 'See:\n\n## Implementation Notes\n\nkept\n\n## Comments\n\nkept, too';
    const body = `\n## Description\n\n<!-- SECTION:DESCRIPTION:BEGIN -->\n${quoted}\n<!-- SECTION:DESCRIPTION:END -->\n`;
    const { issue } = await backlog({ 'tasks/task-1 - A.md': task('TASK-1', {}, body) });

    expect(await issue('TASK-1')).toMatchObject({ description: quoted, comments: [] });
  });

  test('notes under a heading without markers are comments, not description', async () => {
    const body =
      '\n## Description\n\nDo.\n\n## Implementation Notes\n\nDone half.\n\n## Acceptance Criteria\n\n- [ ] a\n';
    const { issue } = await backlog({ 'tasks/task-1 - A.md': task('TASK-1', {}, body) });

    const { description, comments } = await issue('TASK-1');

    expect(description).toBe('Do.\n\n## Acceptance Criteria\n\n- [ ] a');
    expect(comments.map((comment) => comment.body)).toEqual(['## Implementation Notes\n\nDone half.']);
  });
});
