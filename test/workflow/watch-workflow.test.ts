import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { allowedContent } from '../../src/workflow/allowed-content.js';
import { parseWorkflow } from '../../src/workflow/load-workflow.js';
import { watchWorkflow } from '../../src/workflow/watch-workflow.js';
import { FakeClock } from '../support/fake-clock.js';
import { expectSeen, replace, settings, watching, workflowIn } from './watch-fixture.js';
import { load, optionsWith, temporaryFolder } from './workflow-fixture.js';

test('S2-75 an invalid edit keeps the last valid settings and is reported once per distinct content', async () => {
  const file = workflowIn(temporaryFolder());
  const { watcher, log } = await watching(file, true);
  const contents = [settings('many'), settings('many'), '---\nhalf', settings('many'), '---\nhalf'];

  for (const content of contents) {
    writeFileSync(file, content);
    await watcher.check();
    await watcher.check();
  }

  expect(log).toEqual(['error: invalid_workflow_config', 'error: workflow_parse_error']);
  expect(watcher.error?.code).toBe('workflow_parse_error');
});

test('restoring the valid content after an invalid edit is a recovery, not a change', async () => {
  const file = workflowIn(temporaryFolder());
  const { watcher, log } = await watching(file, true);

  for (const content of [settings('many'), settings(1), settings('many'), settings(2)]) {
    writeFileSync(file, content);
    await watcher.check();
  }

  expect(log).toEqual([
    'error: invalid_workflow_config',
    'recovered: ',
    'error: invalid_workflow_config',
    'recovered: ',
    'change: agent.max_turns: 1 → 2',
  ]);
  expect(watcher.error).toBeNull();
});

test('SEC-26 a FIFO, a folder, a missing file, an alias bomb and 1 GB are errors, and the watch continues', async () => {
  const file = workflowIn(temporaryFolder());
  const { watcher, log } = await watching(file, true);
  const put: (() => void)[] = [
    () => execFileSync('mkfifo', [file]),
    () => mkdirSync(file),
    () => {},
    () =>
      writeFileSync(file, `---\na: &a [x]\n${Array.from({ length: 200 }, (_, i) => `b${i}: *a`).join('\n')}\n---\n`),
    () => execFileSync('truncate', ['-s', '1G', file]),
    () => writeFileSync(file, settings(1)),
  ];

  for (const place of put) {
    rmSync(file, { recursive: true, force: true });
    place();
    await watcher.check();
  }

  expect(log).toEqual([
    'error: missing_workflow_file',
    'error: missing_workflow_file',
    'error: missing_workflow_file',
    'error: workflow_parse_error',
    'error: invalid_workflow_config',
    'recovered: ',
  ]);
});

test('a check detects a change that the watch missed, and does nothing without a change', async () => {
  const file = workflowIn(temporaryFolder());
  const { watcher, log } = await watching(file, true);

  await watcher.check();
  writeFileSync(file, settings(2));
  await Promise.all([watcher.check(), watcher.check(), watcher.check()]);
  replace(file, settings(2));
  await watcher.check();

  expect(log).toEqual(['change: agent.max_turns: 1 → 2']);
});

test('checks during a load cause exactly one more load', async () => {
  const file = workflowIn(temporaryFolder());
  const asked: Promise<void>[] = [];
  const watched = await watching(file, true, () => {
    if (asked.length > 0) return;
    writeFileSync(file, settings(3));
    asked.push(watched.watcher.check(), watched.watcher.check());
  });

  writeFileSync(file, settings(2));
  await watched.watcher.check();
  await Promise.all(asked);

  expect(watched.log).toEqual(['change: agent.max_turns: 1 → 2', 'change: agent.max_turns: 2 → 3']);
});

test('a change between the first load and the start of the watch is detected', async () => {
  const file = workflowIn(temporaryFolder());
  const initial = await load(file);
  writeFileSync(file, settings(2));
  const seen: number[] = [];

  const watcher = await watchWorkflow({
    homeDir: optionsWith().homeDir,
    path: file,
    initial,
    allowed: allowedContent(initial.workflow, initial.text, 0),
    holdsChanges: true,
    clock: new FakeClock(),
    load: (read) => parseWorkflow(read, optionsWith()),
    onChange: (change) => seen.push(change.workflow.config.agent.maxTurns),
    onError: (error) => seen.push(Number(error.code)),
    onHeld: () => {},
    onHeldGone: () => {},
    onRecovered: () => {},
    onWatchError: () => {},
  });
  await watcher.close();

  expect(seen).toEqual([2]);
});

test('a key that needs a restart keeps its running value until it is put back', async () => {
  const file = workflowIn(temporaryFolder(), settings(1, 'server: {port: 1}'));
  const { watcher, changes } = await watching(file, true);

  for (const content of [
    settings(1, 'server: {port: 2}'),
    settings(5, 'server: {port: 2}'),
    settings(5, 'server: {port: 1}'),
  ]) {
    writeFileSync(file, content);
    await watcher.check();
  }

  expect(changes.map(({ waitingKeys }) => waitingKeys)).toEqual([['server.port'], ['server.port'], []]);
  expect(changes.map(({ workflow }) => workflow.config.server.port)).toEqual([1, 1, 1]);
  expect(changes[1]?.changes).toEqual(['agent.max_turns: 1 → 5']);
  expect(Object.isFrozen(changes[0]?.workflow.config.tracker)).toBe(true);
});

test('a change carries the secrets of the new file', async () => {
  const file = workflowIn(temporaryFolder());
  const { watcher, changes } = await watching(file, true);

  writeFileSync(file, settings(1).replace('kind: local', 'kind: local, provider: {token: canary}'));
  await watcher.check();

  expect(changes[0]?.literalSecrets).toEqual(['canary']);
});

test('nothing is reported after close', async () => {
  const file = workflowIn(temporaryFolder());
  const { watcher, log } = await watching(file);

  writeFileSync(file, settings(2));
  const looking = watcher.check();
  await watcher.close();
  await looking;
  writeFileSync(file, settings(3));
  await watcher.check();

  expect(log).toEqual([]);
});

test('the check before a poll detects an edited executor definition; an invalid definition changes nothing', async () => {
  const folder = temporaryFolder();
  const file = workflowIn(folder);
  const definitions = path.join(folder, '.baton', 'executors');
  const write = (command: string) =>
    writeFileSync(
      path.join(definitions, 'acme.yaml'),
      `schemaVersion: 2\nkind: Executor\nmetadata: {name: acme}\nspec: {command: ${command}}\n`,
    );
  mkdirSync(definitions, { recursive: true });
  write('one');
  const { watcher, log, changes } = await watching(file, true);

  write('two');
  await watcher.check();
  write('[');
  await watcher.check();

  expect(log).toEqual(['change: executors changed (security)', 'error: invalid_workflow_config']);
  expect(changes[0]?.workflow.plan.executors.acme).toMatchObject({ command: 'two' });
});

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

test('a content that is replaced while it is read is not allowed any more', async () => {
  const file = workflowIn(temporaryFolder());
  const hook = (script: string) => settings(1, `hooks: {before_run: ${script}}`);
  let raced: Promise<boolean> | null = null;
  let shown: string | undefined;
  const { watcher, changes } = await watching(
    file,
    true,
    () => {
      if (shown === undefined || raced !== null) return;
      writeFileSync(file, hook('another'));
      raced = watcher.allow(shown);
    },
    true,
  );
  writeFileSync(file, hook('shown'));
  await watcher.check();
  const { hash } = watcher.held ?? {};
  writeFileSync(file, settings(1));
  await watcher.check();

  shown = hash;
  writeFileSync(file, hook('shown'));
  await watcher.check();

  expect(await raced).toBe(false);
  expect(changes).toEqual([]);
});
