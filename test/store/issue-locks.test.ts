import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openIssueLocks } from '../../src/store/issue-locks.js';
import { tempFolder } from '../runner/workspace/temp-folder.js';
import { issue } from '../support/builders.js';

const open = (dir: string, scope = 'board') => {
  const locks = openIssueLocks({ dir, scope, workflow: '/p/WORKFLOW.md' });
  onTestFinished(() => locks.close());
  return locks;
};

/** A foreign process that lives until the test ends it. */
async function stranger() {
  const child = spawn('bash', ['-c', 'echo; read _'], { stdio: ['pipe', 'pipe', 'ignore'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  const stat = readFileSync(`/proc/${child.pid}/stat`, 'latin1');
  return {
    pid: child.pid ?? 0,
    startTime: stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '',
    async end() {
      child.stdin.end();
      await once(child, 'exit');
    },
  };
}

/** A lock as another daemon writes it. */
async function takenBy(dir: string, issueId: string, pid: number, startTime: string) {
  const [file = ''] = (await readdir(dir)).filter((name) => name.endsWith('.issues'));
  const db = new DatabaseSync(join(dir, file));
  db.prepare('INSERT OR REPLACE INTO taken VALUES (?, ?, ?, ?)').run(issueId, pid, startTime, '/other/WORKFLOW.md');
  db.close();
}

test('an issue that another live daemon runs is refused with its holder, and free afterwards', async () => {
  const dir = await tempFolder();
  const locks = open(dir);
  const other = await stranger();
  await takenBy(dir, 'A', other.pid, other.startTime);

  await expect(locks.take(issue('A'))).rejects.toMatchObject({
    code: 'issue_taken',
    message: expect.stringContaining(`pid ${other.pid}, with /other/WORKFLOW.md`),
  });
  await locks.take(issue('B'));
  await other.end();
  await (await locks.take(issue('A')))();
});

test('a process that reuses the pid of a dead holder does not block', async () => {
  const dir = await tempFolder();
  const locks = open(dir);
  const other = await stranger();
  await takenBy(dir, 'A', other.pid, `${other.startTime}1`);

  await expect(locks.take(issue('A'))).resolves.toBeTypeOf('function');
});

test('a zombie holds nothing, although its pid exists', async () => {
  const dir = await tempFolder();
  const locks = open(dir);
  // Its parent becomes a program that does not look after children.
  const parent = spawn(
    'bash',
    ['-c', 'while [ "$(cat /proc/$$/comm)" = bash ]; do :; done & echo $!; exec sleep 1000'],
    {
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  onTestFinished(() => void parent.kill('SIGKILL'));
  const [line] = await once(parent.stdout, 'data');
  const pid = Number(String(line));
  const stat = () => readFileSync(`/proc/${pid}/stat`, 'latin1');
  await vi.waitFor(() => expect(stat()).toContain(') Z '), 5_000);
  await takenBy(
    dir,
    'A',
    pid,
    stat()
      .slice(stat().lastIndexOf(')') + 2)
      .split(' ')[19] ?? '',
  );

  await expect(locks.take(issue('A'))).resolves.toBeTypeOf('function');
});

test('issues of another tracker and of the same daemon do not block', async () => {
  const dir = await tempFolder();
  const other = await stranger();
  const locks = open(dir);
  await takenBy(dir, 'A', other.pid, other.startTime);

  const elsewhere = open(dir, 'another board');
  await elsewhere.take(issue('A'));
  const release = await locks.take(issue('C'));
  await locks.take(issue('C'));
  await release();
  await release();
});

test('an issue whose lock cannot be checked waits as if it were taken', async () => {
  const dir = await tempFolder();
  const locks = open(dir);
  const [file = ''] = await readdir(dir);
  const other = new DatabaseSync(join(dir, file));
  onTestFinished(() => other.close());
  other.exec('BEGIN IMMEDIATE');

  await expect(locks.take(issue('A'))).rejects.toMatchObject({
    code: 'issue_taken',
    message: expect.stringMatching(/^cannot check whether another Baton works on A: .*database is locked/),
  });
});

test('a damaged file is set aside and replaced', async () => {
  const dir = await tempFolder();
  await open(dir).close();
  const [file = ''] = await readdir(dir);
  writeFileSync(join(dir, file), 'no database at all, but long enough to be looked at'.repeat(40));

  await open(dir).take(issue('A'));

  expect((await readdir(dir)).some((name) => name.includes('.corrupt-'))).toBe(true);
});
