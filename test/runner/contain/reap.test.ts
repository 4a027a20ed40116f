import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test, vi } from 'vitest';
import { isStillAlive, processFacts } from '../../../runner/contain/proc-table.js';
import { readBootId, reap, stillAlive } from '../../../runner/contain/reap.js';
import type { OpenRun } from '../../../src/domain/ports.js';

const started: ChildProcess[] = [];
const strays: number[] = [];
const bootId = await readBootId();
const NONE = new Set<string>();
// A unique id: the end of a run searches the whole machine for its marker.
const [RUN, OTHER_RUN] = [randomUUID(), randomUUID()];

afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
  for (const pid of strays.splice(0)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {} // it is gone, as it should be
  }
});

/** A process in a new session, after it printed its first line: the pids of its children. */
async function start(script: string, env: NodeJS.ProcessEnv = {}): Promise<{ pid: number; children: number[] }> {
  const child = spawn('bash', ['-c', script], {
    env: { PATH: process.env.PATH, ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  started.push(child);
  const [line] = await once(child.stdout, 'data');
  const children = String(line).trim().split(' ').filter(Boolean).map(Number);
  strays.push(...children);
  return { pid: child.pid ?? 0, children };
}

const identityOf = async (pid: number) => ({ pid, startTime: (await processFacts(pid))?.startTime ?? '' });
const noted = (marker: string, pid: number, startTime: string, boot = bootId): OpenRun => ({
  marker,
  issueId: 'A',
  owesAfterRunIn: null,
  processes: [{ pid, startTime, bootId: boot }],
});
const marked = (daemon: string, run: string = RUN) => ({ BATON_DAEMON_MARKER: daemon, BATON_RUN_MARKER: run });

test('exactly the processes with the marker of the daemon end, whatever signals they ignore and in any session', async () => {
  const daemon = randomUUID();
  const left = await start(
    'trap "" TERM HUP; setsid sleep 1000 & a=$!; env -i setsid sleep 1000 & echo $a $!; wait',
    marked(daemon),
  );
  const foreign = await start('echo; exec sleep 1000', marked(`${daemon}-2`));
  const pids = [left.pid, ...left.children];
  const identities = await Promise.all([...pids, foreign.pid].map(identityOf));

  const { killed, survivors } = await reap({ daemonMarker: daemon, runMarkers: NONE, openRuns: [], bootId });

  expect(killed).toBeGreaterThanOrEqual(3);
  expect(survivors.size).toBe(0);
  expect(await Promise.all(identities.map(isStillAlive))).toEqual([false, false, false, true]);
});

test('a recorded process ends with its group, even without a marker', async () => {
  const left = await start('sleep 1000 & echo $!; wait');
  const { startTime } = await identityOf(left.pid);
  const child = await identityOf(left.children[0] ?? 0);

  await reap({ daemonMarker: randomUUID(), runMarkers: NONE, openRuns: [noted(RUN, left.pid, startTime)], bootId });

  expect(await isStillAlive({ pid: left.pid, startTime })).toBe(false);
  expect(await isStillAlive(child)).toBe(false);
});

test.each([
  ['that started at another time', `${1}`, bootId],
  ['of another life of the machine', null, 'another-boot'],
])('a process %s only has the same pid and is never touched', async (_, otherStart, boot) => {
  const bystander = await start('echo; exec sleep 1000');
  const identity = await identityOf(bystander.pid);

  const openRuns = [noted(RUN, bystander.pid, otherStart ?? identity.startTime, boot)];
  const { killed } = await reap({ daemonMarker: randomUUID(), runMarkers: NONE, openRuns, bootId });

  expect(killed).toBe(0);
  expect(await isStillAlive(identity)).toBe(true);
});

test('an ancestor of the daemon is spared, even with the marker', async () => {
  const daemon = randomUUID();
  const module = fileURLToPath(new URL('../../../dist/runner/contain/reap.js', import.meta.url));
  const script = `import { reap } from '${module}';
    const { killed } = await reap({ daemonMarker: '${daemon}', runMarkers: new Set(), openRuns: [], bootId: 'b' });
    console.log(killed);`;
  const child = spawn(
    'bash',
    ['-c', 'sleep 1000 & "$0" --input-type=module -e "$1"; echo alive', process.execPath, script],
    {
      env: { PATH: process.env.PATH, ...marked(daemon) },
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  started.push(child);

  // The sleep beside it ends, the shell around it does not.
  expect(await text(child.stdout)).toBe('1\nalive\n');
});

test('without survivors it scans the processes once', async () => {
  expect(await reap({ daemonMarker: randomUUID(), runMarkers: NONE, openRuns: [], bootId })).toEqual({
    killed: 0,
    survivors: new Map(),
  });
});

test('a run of an older Baton without the marker of the daemon is found by the marker of the run', async () => {
  const left = await start('echo; exec sleep 1000', { BATON_RUN_MARKER: OTHER_RUN });
  const identity = await identityOf(left.pid);

  await reap({ daemonMarker: randomUUID(), runMarkers: new Set([OTHER_RUN]), openRuns: [], bootId });

  expect(await isStillAlive(identity)).toBe(false);
});

test('while a survivor is waited for, no other process with the same marker is touched', async () => {
  const daemon = randomUUID();
  const survivor = await start('echo; exec sleep 1000', marked(daemon));
  const ours = await start('echo; exec sleep 1000', marked(daemon, OTHER_RUN));
  const [left, next] = await Promise.all([survivor.pid, ours.pid].map(identityOf));

  if (left) await stillAlive([left]);

  await vi.waitFor(async () => expect(left && (await stillAlive([left]))).toEqual([]));
  expect(next && (await isStillAlive(next))).toBe(true);
});
