import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { GroupTree } from '../../../runner/contain/group-tree.js';
import { findMarked } from '../../../runner/contain/marker-sweep.js';
import { isStillAlive, processFacts, signalExactly } from '../../../runner/contain/proc-table.js';

const started: ChildProcess[] = [];

afterEach(async () => {
  for (const child of started.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
});

/** A process in a new group, after it printed its first line. The line may be a pid. */
async function start(script: string, env: NodeJS.ProcessEnv = {}): Promise<{ pid: number; line: string }> {
  const child = spawn('bash', ['-c', script], {
    env: { PATH: process.env.PATH, ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  started.push(child);
  const [line] = await once(child.stdout, 'data');
  return { pid: child.pid ?? 0, line: String(line).trim() };
}

test('exactly the processes with this marker are found, and not this one', async () => {
  const marker = randomUUID();
  const marked = await start('echo; exec sleep 1000', { BATON_RUN_MARKER: marker });
  await start('echo; exec sleep 1000', { BATON_RUN_MARKER: `${marker}-2` });
  await start('echo; exec sleep 1000', { OTHER: `BATON_RUN_MARKER=${marker}` });

  expect(await findMarked(marker)).toEqual([{ pid: marked.pid, startTime: expect.stringMatching(/^\d+$/) }]);
});

test('a zombie counts as gone', async () => {
  const { line: zombie } = await start(
    // It ends after its parent stopped being a shell that would reap it.
    'while [ "$(cat /proc/$$/comm)" = bash ]; do :; done & echo $!; exec sleep 1000',
  );

  await vi.waitFor(() => expect(readFileSync(`/proc/${zombie}/stat`, 'utf8')).toContain(') Z '));
  expect(await processFacts(Number(zombie))).toMatchObject({ isAlive: false });
});

test('a process that was given the number of another one is not signalled in its place', async () => {
  const { pid } = await start('echo; exec sleep 1000');
  const startTime = (await processFacts(pid))?.startTime ?? '';

  expect(signalExactly({ pid, startTime: `${startTime}0` }, 'SIGKILL')).toBe(false);
  expect(await isStillAlive({ pid, startTime })).toBe(true);
  expect(await isStillAlive({ pid, startTime: `${startTime}0` })).toBe(false);
});

test('a group that was given the number of an ended one is not signalled in its place', async () => {
  const { pid } = await start('echo; exec sleep 1000');
  const tree = new GroupTree({ pid, hasExited: () => true }, randomUUID());

  await tree.signal('SIGKILL');

  expect(await tree.survivors()).toEqual([]);
  expect((await processFacts(pid))?.isAlive).toBe(true);
});

test('a process with blanks and parentheses in its name is read right', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'baton-name-'));
  const name = join(folder, 'a) Z (b');
  symlinkSync('/bin/sleep', name);
  const { pid } = await start('echo; exec "$NAME" 1000', { NAME: name });

  await vi.waitFor(() => expect(readFileSync(`/proc/${pid}/comm`, 'utf8')).toBe('a) Z (b\n'));
  expect(await processFacts(pid)).toMatchObject({ groupId: pid, isAlive: true });
  rmSync(folder, { recursive: true });
});
