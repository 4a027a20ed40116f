import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { tempFolder } from '../runner/workspace/temp-folder.js';
import { DIST } from '../support/dist.js';
import { openStore } from './open-store.js';

const CHILD = (name: string) => fileURLToPath(new URL(`../support/children/${name}.mjs`, import.meta.url));
/** A mount that only the child sees; for other users than root inside a user namespace. */
const OWN_MOUNTS = ['unshare', ...(process.geteuid?.() === 0 ? [] : ['--user', '--map-root-user']), '--mount'];
const SMALL_DISK = 'mount -t tmpfs -o size=400k baton-test "$0" && exec "$@"';

test('every write that has resolved is stored after kill -9', async () => {
  const dir = await tempFolder();
  const child = spawn(process.execPath, [CHILD('store-writer'), DIST, dir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const exited = once(child, 'exit');

  let resolved = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    resolved = Number(line);
    if (resolved === 200) child.kill('SIGKILL');
  }
  await exited;

  const { store, warnings } = await openStore(dir);
  const { records, pausedSinceMs, ledger } = await store.load();
  expect(resolved).toBeGreaterThanOrEqual(200);
  expect([resolved, resolved + 1]).toContain(records.A?.runs);
  expect([pausedSinceMs, ledger['2026-01-01']?.tokens]).toEqual([records.A?.runs, records.A?.runs]);
  expect(warnings).toEqual([]);
});

const [unshare = '', ...options] = OWN_MOUNTS;
const canMount = spawnSync(unshare, [...options, 'bash', '-c', 'mount -t tmpfs baton-test /mnt']).status === 0;

test.skipIf(!canMount && !process.env.CI)(
  'a full disk is reported, loses no stored data, and writes succeed again when there is space',
  async () => {
    const dir = await tempFolder();
    const node = [process.execPath, CHILD('store-on-full-disk'), DIST, dir];

    const { stdout } = await promisify(execFile)(unshare, [...options, 'bash', '-c', SMALL_DISK, dir, ...node]);

    expect(JSON.parse(stdout)).toEqual({
      failure: { code: 'store_failed', message: expect.stringMatching(/disk is full.*Free space on the disk of/) },
      during: 1,
      after: 3,
    });
  },
);
