// Agents that are at work and say nothing: what each costs the daemon in memory, and what all of them cost in processor time.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { cpuSeconds } from './burst.mjs';
import { ended, now } from './measure.mjs';

/** After the start of the last agent: timers and records of the start are done. */
const SETTLE_MS = 5_000;
const WATCHED_MS = 15_000;
const main = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));
const agent = fileURLToPath(new URL('waiting-agent.pl', import.meta.url));
const collect = fileURLToPath(new URL('collect-garbage.mjs', import.meta.url));

/** KB of memory per agent, the share of a core that 100 agents take, and the seconds until all have begun. */
export async function idle({ agents, isolation = 'auto' }) {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'baton-bench-')));
  const at = (name) => join(dir, name);
  for (const name of ['home', 'tmp']) mkdirSync(at(name));
  const tasks = at('backlog/tasks');
  mkdirSync(tasks, { recursive: true });
  const addTask = (n) =>
    writeFileSync(join(tasks, `task-${n} - N.md`), `---\nid: TASK-${n}\ntitle: N\nstatus: To Do\n---\nWork.\n`);
  addTask(1);
  const settings = {
    tracker: { kind: 'local' },
    polling: { interval_ms: 5_000 },
    workspace: { root: 'workspaces', min_free_mb: 1 },
    agent: { max_concurrent_agents: agents },
    codex: { command: `exec perl '${agent}'`, read_timeout_ms: 60_000, stall_timeout_ms: 0 },
    runtime: { isolation },
  };
  writeFileSync(at('WORKFLOW.md'), `---\n${JSON.stringify(settings)}\n---\n{{ issue.title }}\n`);
  const daemon = spawn(
    process.execPath,
    ['--expose-gc', '--import', collect, main, 'run', '--state-dir', at('state')],
    {
      cwd: dir,
      env: { PATH: process.env.PATH, HOME: at('home'), TMPDIR: at('tmp') },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  try {
    const lines = createInterface({ input: daemon.stderr })[Symbol.asyncIterator]();
    let begun = 0;
    const untilBegun = async (count) => {
      while (begun < count) {
        const { done, value } = await lines.next();
        if (done) throw new Error('the daemon has ended');
        if (JSON.parse(value).event === 'session_started') begun += 1;
      }
    };
    await untilBegun(1);
    const before = await memoryKb(daemon);
    const begin = now();
    for (let n = 2; n <= agents; n++) addTask(n);
    await untilBegun(agents);
    const startSeconds = (now() - begin) / 1000;
    const after = await memoryKb(daemon);
    const cpuBefore = cpuSeconds(daemon.pid);
    await wait(WATCHED_MS);
    const cpu = cpuSeconds(daemon.pid);
    const used = cpu.user + cpu.system - cpuBefore.user - cpuBefore.system;
    const corePerHundred = (used / (WATCHED_MS / 1000)) * (100 / agents);
    return { kbPerAgent: (after - before) / (agents - 1), corePerHundred, startSeconds };
  } finally {
    daemon.stderr.resume();
    daemon.kill();
    if (daemon.exitCode === null) await ended(daemon);
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** After a garbage collection. */
async function memoryKb({ pid }) {
  await wait(SETTLE_MS);
  process.kill(pid, 'SIGUSR2');
  await wait(SETTLE_MS);
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))[1]);
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  console.log(await idle({ agents: Number(process.argv[2] ?? 200), isolation: process.argv[3] }));
