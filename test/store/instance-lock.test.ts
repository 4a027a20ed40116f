import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { chmod, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { DatabaseSync } from '@photostructure/sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { listHolders, takeLocks, writeHolder } from '../../src/store/instance-lock.js';
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

/** Another process that takes the locks. `said` is its result. It starts at once, or waits for `go`. */
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

/** The results when all processes start at the same time. */
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

test('the error of the second daemon names the first', async () => {
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

test('one common key prevents the start, and locks that were taken before it are released', async () => {
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

test('a killed holder does not block, and its details are overwritten', async () => {
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

test('a holder that ends normally releases the lock and removes its details', async () => {
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

test('exactly one of twenty concurrent daemons gets the locks, and the others name it', async () => {
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

test('one of several daemons with crossing locks gets all of its own', async () => {
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

test('a process that drops the returned object still holds its locks', async () => {
  const dir = await tempFolder();
  expect(await (await taker({ dir, drop: true })).said).toMatchObject({ taken: true });

  await expect(takeLocks({ dir, keys: KEYS, holder: HOLDER })).rejects.toMatchObject({ code: 'already_running' });
});

test('the same process does not get a lock twice, and a try does not release it', async () => {
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
])('with details that are %s the message still names the remedy', async (_, spoil) => {
  const dir = await tempFolder();
  await (await taker({ dir, keys: ['k'] })).said;
  const name = (await readdir(dir)).find((entry) => entry.endsWith('.json')) ?? '';
  await spoil(join(dir, name));

  await expect(takeLocks({ dir, keys: ['k'], holder: HOLDER })).rejects.toMatchObject({
    code: 'already_running',
    message: expect.stringMatching(/another Baton is at work on k: .*"fuser .*\.lock" names its pid/),
  });
});

test('reading a lock file blocks no daemon', async () => {
  const dir = await tempFolder();
  await (await takeLocks({ dir, keys: ['k'], holder: HOLDER })).release();
  const [name = ''] = await readdir(dir);
  const db = new DatabaseSync(join(dir, name));
  onTestFinished(() => db.close());
  db.exec('BEGIN; SELECT * FROM sqlite_master');

  const locks = await takeLocks({ dir, keys: ['k'], holder: HOLDER });

  await locks.release();
});

test('a lock file with other content is named and not changed', async () => {
  const dir = await tempFolder();
  await (await takeLocks({ dir, keys: ['k'], holder: HOLDER })).release();
  const [name = ''] = await readdir(dir);
  await writeFile(join(dir, name), 'my own notes\n'.repeat(99));

  await expect(takeLocks({ dir, keys: ['k'], holder: HOLDER })).rejects.toMatchObject({
    code: 'store_failed',
    message: `${join(dir, name)} is not a lock file of Baton. Remove it`,
  });

  expect(await readFile(join(dir, name), 'utf8')).toContain('my own notes');
});

test('the folder is created for this user only', async () => {
  const dir = join(await tempFolder(), 'baton', 'locks');

  const locks = await takeLocks({ dir, keys: KEYS, holder: HOLDER });

  expect((await stat(dir)).mode & 0o777).toBe(0o700);
  for (const name of await readdir(dir)) expect((await stat(join(dir, name))).mode & 0o777, name).toBe(0o600);
  await locks.release();
});

test.each([
  ['cannot be made', (parent: string) => chmod(parent, 0o555)],
  ['is a file', (parent: string) => writeFile(join(parent, 'locks'), '')],
])('a folder that %s is named with the remedy', async (_, spoil) => {
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

test('a folder of another user is named with the remedy', async () => {
  const failure = await asOrdinaryUser(await tempFolder(), () =>
    takeLocks({ dir: '/usr', keys: KEYS, holder: HOLDER }).catch((error: Error) => error),
  );

  expect(failure).toMatchObject({ code: 'store_failed', message: expect.stringContaining('Make it writable') });
});

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'baton-holders-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

const OWN = { pid: process.pid, since: '2026-03-01T00:00:00.000Z', workflow: '/a/WORKFLOW.md', stateDir: '/state/a' };

describe('the holders of locks in a folder', () => {
  test('are listed once each, however many locks they have, the oldest first', async () => {
    const dir = folder();
    const older = { ...OWN, since: '2026-02-01T00:00:00.000Z', workflow: '/b/WORKFLOW.md', stateDir: '/state/b' };
    await writeHolder(join(dir, '1.json'), { ...OWN, key: 'the workspaces' });
    await writeHolder(join(dir, '2.json'), { ...OWN, key: 'the issues' });
    await writeHolder(join(dir, '3.json'), { ...older, key: 'other workspaces' });

    expect(await listHolders(dir)).toEqual([older, OWN]);
  });

  test('have no state directory when an older version wrote them', async () => {
    const dir = folder();
    const { stateDir, ...old } = OWN;
    writeFileSync(join(dir, '1.json'), JSON.stringify({ ...old, key: 'k' }));

    expect(await listHolders(dir)).toEqual([old]);
  });

  test('that are dead are left out, and so are invalid files', async () => {
    const dir = folder();
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    await once(child, 'spawn');
    await writeHolder(join(dir, '1.json'), { ...OWN, pid: child.pid ?? 0, key: 'k' });
    expect(await listHolders(dir)).toHaveLength(1);
    child.kill('SIGKILL');
    await once(child, 'exit');
    for (const [name, text] of [
      ['2.json', '{"pid":0,"since":"x","workflow":"y"}'],
      ['3.json', '{"pid":-1,"since":"x","workflow":"y"}'],
      ['4.json', '{"pid":1'],
      ['5.json', 'null'],
      ['6.json', `{"pid":${process.pid}}`],
      ['7.lock', JSON.stringify(OWN)],
    ] as const)
      writeFileSync(join(dir, name), text);

    expect(await listHolders(dir)).toEqual([]);
  });

  test.runIf(process.platform === 'linux')('whose pid is another process by now are left out', async () => {
    const dir = folder();
    const path = join(dir, '1.json');
    await writeHolder(path, { ...OWN, key: 'k' });
    writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), begun: '1' }));

    expect(await listHolders(dir)).toEqual([]);
  });

  test('of a missing folder are none', async () => {
    expect(await listHolders('/none/there')).toEqual([]);
  });
});
