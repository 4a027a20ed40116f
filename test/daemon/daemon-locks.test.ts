import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { DaemonLocks, workLocks } from '../../src/daemon/daemon-locks.js';
import { createLogger } from '../../src/logging/logger.js';
import { createRedactor } from '../../src/logging/redact.js';
import { tempFolder } from '../runner/workspace/temp-folder.js';
import { config } from '../support/builders.js';
import { testDaemon } from '../support/test-daemon.js';

function newLocks(workflow: string) {
  const lines: { [key: string]: unknown }[] = [];
  const stream = { write: (line: string) => lines.push(JSON.parse(line)) };
  const log = createLogger({ level: 'debug', redactor: createRedactor(), stream, pretty: false });
  const locks = new DaemonLocks({ pid: process.pid, since: new Date().toISOString(), workflow }, log);
  onTestFinished(() => locks.keepOnly([]));
  return { locks, lines };
}

/** A home with a root of workspaces, and the locks of a daemon there. `xdg`: its `XDG_STATE_HOME`. */
async function place() {
  const homeDir = await tempFolder();
  const root = join(homeDir, 'workspaces');
  await mkdir(root);
  const usual = join(homeDir, '.local/state/baton/locks');
  const wanted = (work: { xdg?: string; root?: string; labels?: string[] } = {}) =>
    workLocks({
      root: work.root ?? root,
      tracker: { scope: 'local/backlog' },
      config: { ...config().tracker, requiredLabels: work.labels ?? [] },
      lockDir: work.xdg === undefined ? usual : join(homeDir, work.xdg, 'baton/locks'),
      homeDir,
    });
  return { homeDir, root, wanted };
}

test('a daemon with another lock folder does not work in the same workspaces', async () => {
  const first = await testDaemon({});
  const stateDir = join(first.dir, 'other-state');

  const second = testDaemon({ again: first.dir, home: join(first.dir, 'other-home'), stateDir });

  await expect(second).rejects.toMatchObject({
    code: 'already_running',
    message: expect.stringMatching(
      new RegExp(`the workspaces in ${first.workspaces}: pid ${process.pid}.*WORKFLOW\\.md`),
    ),
  });
});

test.each([
  ['the usual folder, then another', undefined, 'x'],
  ['another folder, then the usual one', 'x', undefined],
  ['two other folders', 'x', 'y'],
])('issues of one tracker are locked across lock folders: %s', async (_, one, two) => {
  const { homeDir, wanted } = await place();
  const root = join(homeDir, 'elsewhere');
  await newLocks('/first/WORKFLOW.md').locks.take(wanted(one === undefined ? {} : { xdg: one }));

  const second = newLocks('/second/WORKFLOW.md').locks.take(
    wanted({ root, ...(two === undefined ? {} : { xdg: two }) }),
  );

  await expect(second).rejects.toMatchObject({
    code: 'already_running',
    message: expect.stringContaining('the issues of local/backlog: pid'),
  });
});

test('a refused daemon keeps none of its locks', async () => {
  const { homeDir, wanted } = await place();
  const [first, second, third] = [newLocks('/1'), newLocks('/2'), newLocks('/3')];
  const root = join(homeDir, 'elsewhere');
  await first.locks.take(wanted());
  await expect(second.locks.take(wanted({ root, xdg: 'x' }))).rejects.toMatchObject({ code: 'already_running' });

  await third.locks.take(wanted({ root, labels: ['mine'] }));
});

test('the locks on a new root are held together with the old ones, which are released later', async () => {
  const { homeDir, wanted } = await place();
  const [daemon, other] = [newLocks('/1'), newLocks('/2')];
  const moved = wanted({ root: join(homeDir, 'elsewhere') });
  await daemon.locks.take(wanted());
  await daemon.locks.take(moved);
  await expect(other.locks.take(wanted({ xdg: 'x', labels: ['mine'] }))).rejects.toMatchObject({
    code: 'already_running',
  });

  await daemon.locks.keepOnly(moved);
  await other.locks.take(wanted({ xdg: 'x', labels: ['mine'] }));
});

test('a place that cannot have the extra locks is no reason to refuse the start, and the log says so', async () => {
  const { homeDir, wanted } = await place();
  await writeFile(join(homeDir, '.local'), '');
  const { locks, lines } = newLocks('/1');

  await locks.take(wanted({ xdg: 'x' }));

  expect(lines).toMatchObject([{ level: 'warn', msg: 'a daemon with another XDG_STATE_HOME could not be noticed' }]);
  await expect(newLocks('/2').locks.take(wanted({ xdg: 'x' }))).rejects.toMatchObject({ code: 'already_running' });
});
