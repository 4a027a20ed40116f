import { expect, test } from 'vitest';
import { growthOf } from '../../support/growth.js';
import { backlog, task } from './backlog-folder.js';

const needing = (id: string, ...ids: string[]) => task(id, { dependencies: `[${ids.join(', ')}]` });

test.each([
  ['on itself', [['TASK-1', 'TASK-1']], /1\.md: depends on itself, so it waits for ever/],
  [
    'in a circle',
    [
      ['TASK-1', 'TASK-2'],
      ['TASK-2', 'TASK-3'],
      ['TASK-3', 'task-01'],
    ],
    /1\.md: depends on itself by way of TASK-2, TASK-3, so it waits for ever/,
  ],
])('tasks that depend %s are reported', async (_, tasks, text) => {
  const { all } = await backlog(
    Object.fromEntries(tasks.map(([id = '', ...ids], i) => [`tasks/${i + 1}.md`, needing(id, ...ids)])),
  );

  expect((await all()).problems).toEqual([expect.stringMatching(text)]);
});

test('a done task breaks a cycle, and two paths to one task are not a cycle', async () => {
  const { all } = await backlog({
    'tasks/1.md': needing('TASK-1', 'TASK-2', 'TASK-3'),
    'tasks/2.md': needing('TASK-2', 'TASK-3', 'TASK-4'),
    'tasks/3.md': needing('TASK-3', 'TASK-4'),
    'tasks/4.md': needing('TASK-4', 'TASK-1').replace('To Do', 'Done'),
  });

  expect((await all()).problems).toEqual([]);
});

test('the search for cycles is linear in the number of dependencies', async () => {
  const lookAgain = async (count: number) => {
    const everybody = Array.from({ length: 40 }, (_, i) => `ALL-${i}`);
    const texts = [
      ...everybody.map((id) => needing(id, ...everybody)),
      ...Array.from({ length: count }, (_, i) => needing(`TASK-${i}`, `TASK-${(i + 1) % count}`)),
    ];
    const { all } = await backlog(Object.fromEntries(texts.map((text, i) => [`tasks/${i}.md`, text])));
    await all();
    return async () => expect((await all()).problems?.length).toBeLessThanOrEqual(20);
  };

  expect(await growthOf(lookAgain, 100)).toBeLessThan(10);
});
