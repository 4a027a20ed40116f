import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { DatabaseSync } from '@photostructure/sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { takeLocks } from '../../src/store/instance-lock.js';
import { tempFolder } from '../runner/workspace/temp-folder.js';
import { asOrdinaryUser } from '../support/as-ordinary-user.js';
import { DIST } from '../support/dist.js';

const TAKER = fileURLToPath(new URL('../support/children/lock-taker.mjs', import.meta.url));
const KEYS = ['workspaces /w', 'issues of linear/x'];
const HOLDER = { pid: process.pid, since: '2026-02-02T00:00:00.000Z', workflow: '/mine/WORKFLOW.md' };

interface Said {
  readonly pid: number;
  readonly taken?: true;
  readonly code?: string;
  readonly message?: string;
}

/** Another process that wants the locks. `said`: what came of it; it is let go at once, unless it has to wait for `go`. */
async function taker(order: { dir: string; keys?: readonly string[]; drop?: boolean }, go = Promise.resolve()) {
  const json = JSON.stringify({ keys: KEYS, workflow: '/theirs/WORKFLOW.md', ...order });
  const child = spawn(process.execPath, ['--expose-gc', TAKER, DIST, json], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  await lines.next();
  const said = go.then(async () => {
    child.stdin.write('go\n');
    return JSON.parse((await lines.next()).value as string) as Said;
  });
  return { child, said, exited };
}

/** What comes of it when all of them are let go at the same time. */
async function race(orders: Parameters<typeof taker>[0][]): Promise<Said[]> {
  let letGo = (): void => {};
  const go = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const takers = await Promise.all(orders.map((order) => taker(order, go)));
  letGo();
  return Promise.all(takers.map(({ said }) => said));
}

const kill = async ({ child, exited }: { child: ChildProcess; exited: Promise<unknown> }) => {
  child.kill('SIGKILL');
  await exited;
};

test('the second daemon is told who the first is', async () => {
  const dir = await tempFolder();
  const first = await taker({ dir });
  const { pid } = await first.said;

  const second = takeLocks({ dir, keys: KEYS, holder: HOLDER });

  await expect(second).rejects.toMatchObject({
    code: 'already_running',
    message: expect.stringContaining(`pid ${pid}, since 2026-01-01T00:00:00.000Z, with /theirs/WORKFLOW.md`),
    details: { holder: { pid } },
  });
});

test('one key in common is enough, and what was taken before it is free again', async () => {
  const dir = await tempFolder();
  const first = await taker({ dir, keys: ['b', 'd'] });
  await first.said;

  for (const keys of [
    ['a', 'b', 'c'],
    ['d', 'e'],
    ['c', 'd', 'a', 'e'],
  ]) {
    await expect(takeLocks({ dir, keys, holder: HOLDER })).rejects.toMatchObject({ code: 'already_running' });
  }

  const others = await takeLocks({ dir, keys: ['a', 'c', 'e'], holder: HOLDER });
  await others.release();
});

test('a holder that was killed blocks nobody, and its details are overwritten', async () => {
  const dir = await tempFolder();
  const first = await taker({ dir });
  await first.said;

  await kill(first);
  const locks = await takeLocks({ dir, keys: KEYS, holder: HOLDER });

  const details = (await readdir(dir)).filter((name) => name.endsWith('.json'));
  expect(details).toHaveLength(2);
  for (const name of details) expect(JSON.parse(await readFile(join(dir, name), 'utf8'))).toMatchObject(HOLDER);
  await locks.release();
});

test('a holder that ends well leaves no details, and the lock is free', async () => {
  const dir = await tempFolder();
  const first = await taker({ dir });
  await first.said;

  first.child.stdin?.end();
  await first.exited;

  expect((await readdir(dir)).filter((name) => !name.endsWith('.lock'))).toEqual([]);
  const locks = await takeLocks({ dir, keys: KEYS, holder: HOLDER });
  await locks.release();
  await locks.release();
});

test('of twenty that come at once exactly one gets the locks, and the others name it', async () => {
  const dir = await tempFolder();

  const all = await race(Array.from({ length: 20 }, () => ({ dir })));

  const winners = all.filter((said) => said.taken);
  expect(winners).toHaveLength(1);
  for (const { code, message } of all.filter((said) => !said.taken)) {
    expect({ code, message }).toEqual({
      code: 'already_running',
      message: expect.stringContaining(`pid ${winners[0]?.pid}, since`),
    });
  }
});

test('of those that want each other’s locks at once, one gets all of its own', async () => {
  const dir = await tempFolder();
  const wishes = [
    ['a', 'b'],
    ['b', 'c'],
    ['c', 'a'],
    ['c', 'b', 'a'],
  ];

  const all = await race(wishes.map((keys) => ({ dir, keys })));

  expect(all.filter((said) => said.taken)).toHaveLength(1);
});

test('a process that drops what it was given still holds its locks', async () => {
  const dir = await tempFolder();
  expect(await (await taker({ dir, drop: true })).said).toMatchObject({ taken: true });

  await expect(takeLocks({ dir, keys: KEYS, holder: HOLDER })).rejects.toMatchObject({ code: 'already_running' });
});

test('the same process does not get a lock twice, and loses none by trying', async () => {
  const dir = await tempFolder();
  const locks = await takeLocks({ dir, keys: KEYS, holder: HOLDER });

  await expect(takeLocks({ dir, keys: KEYS, holder: HOLDER })).rejects.toMatchObject({ code: 'already_running' });

  expect(await (await taker({ dir })).said).toMatchObject({ code: 'already_running' });
  await locks.release();
  expect(await (await taker({ dir })).said).toMatchObject({ taken: true });
});

test.each([
  ['cut off', (path: string) => writeFile(path, '{"pid":')],
  ['something else', (path: string) => writeFile(path, '{"pid":-1,"since":"then","workflow":"/w"}')],
  ['missing', (path: string) => rm(path)],
  ['those of a dead one', (path: string) => writeFile(path, '{"pid":4194305,"since":"long ago","workflow":"/old"}')],
])('with details that are %s the message still says what to do', async (_, spoil) => {
  const dir = await tempFolder();
  await (await taker({ dir, keys: ['k'] })).said;
  const name = (await readdir(dir)).find((entry) => entry.endsWith('.json')) ?? '';
  await spoil(join(dir, name));

  await expect(takeLocks({ dir, keys: ['k'], holder: HOLDER })).rejects.toMatchObject({
    code: 'already_running',
    message: expect.stringMatching(/another Baton is at work on k: .*"fuser .*\.lock" names its pid/),
  });
});

test('someone who looks into a lock file keeps nobody out', async () => {
  const dir = await tempFolder();
  await (await takeLocks({ dir, keys: ['k'], holder: HOLDER })).release();
  const [name = ''] = await readdir(dir);
  const db = new DatabaseSync(join(dir, name));
  onTestFinished(() => db.close());
  db.exec('BEGIN; SELECT * FROM sqlite_master');

  const locks = await takeLocks({ dir, keys: ['k'], holder: HOLDER });

  await locks.release();
});

test('a lock file that is something else is named, and left alone', async () => {
  const dir = await tempFolder();
  await (await takeLocks({ dir, keys: ['k'], holder: HOLDER })).release();
  const [name = ''] = await readdir(dir);
  await writeFile(join(dir, name), 'my own notes\n'.repeat(99));

  await expect(takeLocks({ dir, keys: ['k'], holder: HOLDER })).rejects.toMatchObject({
    code: 'store_failed',
    message: `${join(dir, name)} is no lock of Baton. Remove it`,
  });

  expect(await readFile(join(dir, name), 'utf8')).toContain('my own notes');
});

test('the folder is made for this user alone', async () => {
  const dir = join(await tempFolder(), 'baton', 'locks');

  const locks = await takeLocks({ dir, keys: KEYS, holder: HOLDER });

  expect((await stat(dir)).mode & 0o777).toBe(0o700);
  for (const name of await readdir(dir)) expect((await stat(join(dir, name))).mode & 0o777, name).toBe(0o600);
  await locks.release();
});

test.each([
  ['cannot be made', (parent: string) => chmod(parent, 0o555)],
  ['is a file', (parent: string) => writeFile(join(parent, 'locks'), '')],
])('a folder that %s is named with what to do', async (_, spoil) => {
  const parent = await tempFolder();

  const failure = await asOrdinaryUser(parent, async () => {
    await spoil(parent);
    return takeLocks({ dir: join(parent, 'locks'), keys: KEYS, holder: HOLDER }).catch((error: Error) => error);
  });

  expect(failure).toMatchObject({
    code: 'store_failed',
    message: expect.stringMatching(/the lock folder .*\/locks cannot be used: .* set XDG_STATE_HOME/),
  });
});

test('a folder of somebody else is named with what to do', async () => {
  const failure = await asOrdinaryUser(await tempFolder(), () =>
    takeLocks({ dir: '/usr', keys: KEYS, holder: HOLDER }).catch((error: Error) => error),
  );

  expect(failure).toMatchObject({ code: 'store_failed', message: expect.stringContaining('Make it writable') });
});
