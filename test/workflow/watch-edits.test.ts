import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { expectSeen, replace, settings, watching, workflowIn } from './watch-fixture.js';
import { temporaryFolder } from './workflow-fixture.js';

test('S2-75 two edits in place are both detected', async () => {
  const file = workflowIn(temporaryFolder());
  const watched = await watching(file);

  await expectSeen(watched, () => writeFileSync(file, settings(2)), 2);
  await expectSeen(watched, () => writeFileSync(file, settings(3)), 3);

  expect(watched.log).toEqual(['change: agent.max_turns: 1 → 2', 'change: agent.max_turns: 2 → 3']);
});

test('S2-75 repeated saves by rename are detected', async () => {
  const file = workflowIn(temporaryFolder());
  const watched = await watching(file);

  await expectSeen(watched, () => replace(file, settings(2)), 2);
  await expectSeen(watched, () => replace(file, settings(3)), 3);
  await expectSeen(watched, () => writeFileSync(file, settings(4)), 4);
});

test('S2-75 repeated saves by delete and create are detected', async () => {
  const file = workflowIn(temporaryFolder());
  const watched = await watching(file);
  const recreate = (turns: number) => () => {
    unlinkSync(file);
    writeFileSync(file, settings(turns));
  };

  await expectSeen(watched, recreate(2), 2);
  await expectSeen(watched, recreate(3), 3);
});

test('S2-75 replacing the symlink is detected, and so is an edit of its target', async () => {
  const folder = temporaryFolder();
  mkdirSync(path.join(folder, 'elsewhere'));
  const [one, two] = ['one.md', 'two.md'].map((name) => path.join(folder, 'elsewhere', name)) as [string, string];
  writeFileSync(one, settings(1));
  writeFileSync(two, settings(2));
  const file = path.join(folder, 'WORKFLOW.md');
  symlinkSync(one, file);
  const watched = await watching(file);

  const swap = () => {
    symlinkSync(two, `${file}.new`);
    renameSync(`${file}.new`, file);
  };
  await expectSeen(watched, swap, 2);
  await expectSeen(watched, () => writeFileSync(two, settings(3)), 3);
});

test('S2-75 replacing a symlinked folder in the path is detected', async () => {
  const folder = temporaryFolder();
  for (const turns of [1, 2]) {
    mkdirSync(path.join(folder, `v${turns}`));
    workflowIn(path.join(folder, `v${turns}`), settings(turns));
  }
  symlinkSync('v1', path.join(folder, 'current'));
  symlinkSync('current/WORKFLOW.md', path.join(folder, 'WORKFLOW.md'));
  const watched = await watching(path.join(folder, 'WORKFLOW.md'));

  const swap = () => {
    symlinkSync('v2', path.join(folder, 'next'));
    renameSync(path.join(folder, 'next'), path.join(folder, 'current'));
  };
  await expectSeen(watched, swap, 2);
});

test('a replaced folder is watched again after the next check', async () => {
  const folder = path.join(temporaryFolder(), 'project');
  mkdirSync(folder);
  const file = workflowIn(folder);
  const watched = await watching(file);

  const failed = watched.next('error');
  rmSync(folder, { recursive: true });
  await failed;
  mkdirSync(folder);
  workflowIn(folder, settings(2));
  await watched.watcher.check();
  await expectSeen(watched, () => writeFileSync(file, settings(3)), 3);

  expect(watched.log[0]).toBe('error: missing_workflow_file');
});

test('after a symlinked folder is replaced, its new target is watched', async () => {
  const folder = temporaryFolder();
  for (const turns of [1, 2]) {
    mkdirSync(path.join(folder, `v${turns}`));
    workflowIn(path.join(folder, `v${turns}`), settings(turns));
  }
  const current = path.join(folder, 'current');
  symlinkSync('v1', current);
  const watched = await watching(path.join(current, 'WORKFLOW.md'));

  unlinkSync(current);
  symlinkSync('v2', current);
  await watched.watcher.check();
  await expectSeen(watched, () => workflowIn(path.join(folder, 'v2'), settings(3)), 3);

  expect(watched.log).toHaveLength(2);
});
