// The time from starting the command to the agent's first prompt, beside the unavoidable part: starting node, and starting an agent and
// shaking hands with it; and the time of commands that only print, beside starting node. All in one run, taking turns, so that the ratios
// hold on any machine. The home folder is empty: the profile of a user, which `bash -lc` reads, can take longer than everything else.
//   npm run bench
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ended, median, ms, now } from './measure.mjs';

const ROUNDS = 9;
const main = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));
const agent = fileURLToPath(new URL('agent.mjs', import.meta.url));

/** Medians in milliseconds: `node`, `handshake` and `prompt`, and of the commands `help`, `status` and `logs`, with and without a daemon. */
export async function measureStart(rounds = ROUNDS) {
  const folder = mkdtempSync(join(tmpdir(), 'baton-bench-'));
  try {
    const env = { PATH: process.env.PATH, HOME: join(folder, 'home'), LANG: process.env.LANG ?? 'C.UTF-8' };
    mkdirSync(env.HOME);
    const bench = { folder, env };
    const finished = makeWorkflow(bench, 'finished');
    await runIssue(bench, finished);
    const served = makeWorkflow(bench, 'served');
    const stop = await startDaemon(bench, served);
    try {
      const commands = {
        help: ['--help'],
        status: ['status', ...served.flags],
        logs: ['logs', 'TASK-1', ...served.flags],
        storedStatus: ['status', ...finished.flags],
        storedLogs: ['logs', 'TASK-1', ...finished.flags],
      };
      return await takeTurns(rounds, {
        node: () => timed(() => runNode(bench, ['-e', '0'])),
        handshake: () => handshake(bench),
        prompt: (round) => startToPrompt(bench, `prompt-${round}`),
        ...Object.fromEntries(
          Object.entries(commands).map(([name, args]) => [name, () => timed(() => runNode(bench, [main, ...args]))]),
        ),
      });
    } finally {
      await stop();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

function printStart({ node, handshake, prompt, help, status, logs, storedStatus, storedLogs }) {
  const line = (name, value, to, what) =>
    console.log(`  ${name.padEnd(41)}${ms(value)}${to ? `   ${ratio(value, to)} × ${what}` : ''}`);
  console.log(`median of ${ROUNDS}, node ${process.versions.node}`);
  line('start node, do nothing', node);
  line('start an agent, first answer', handshake);
  line('start baton, first prompt at the agent', prompt, node + handshake, 'the two above');
  line('baton --help', help, node, 'node');
  line('baton status', status, node, 'node');
  line('baton logs', logs, node, 'node');
  line('baton status, without a daemon', storedStatus, node, 'node');
  line('baton logs, without a daemon', storedLogs, node, 'node');
}

const ratio = (value, to) => (value / to).toFixed(1);

async function takeTurns(rounds, measures) {
  const times = Object.fromEntries(Object.keys(measures).map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, measure] of Object.entries(measures)) times[name].push(await measure(round));
  }
  return Object.fromEntries(Object.entries(times).map(([name, values]) => [name, median(values)]));
}

async function startToPrompt(bench, name) {
  const workflow = makeWorkflow(bench, name);
  const begin = now();
  await runIssue(bench, workflow);
  return Number(readFileSync(workflow.stamp, 'utf8')) - begin;
}

/** A folder with a workflow and one issue. */
function makeWorkflow({ folder }, name) {
  const dir = join(folder, name);
  // Not beside WORKFLOW.md: a file there that a command names counts as code of the workflow.
  const stamp = join(folder, `${name}.stamp`);
  mkdirSync(join(dir, 'backlog', 'tasks'), { recursive: true });
  writeTask(dir, 'To Do');
  const command = [process.execPath, agent, stamp].map((word) => `'${word}'`).join(' ');
  const settings = {
    tracker: { kind: 'local' },
    workspace: { root: 'workspaces', min_free_mb: 1 },
    agent: { max_turns: 1 },
    codex: { command, stall_timeout_ms: 10_000 },
  };
  const file = join(dir, 'WORKFLOW.md');
  writeFileSync(file, `---\n${JSON.stringify(settings)}\n---\n{{ issue.title }}\n`);
  return { dir, stamp, flags: ['--workflow', file, '--state-dir', join(dir, 'state')] };
}

function writeTask(dir, status) {
  writeFileSync(join(dir, 'backlog/tasks/task-1 - A.md'), `---\nid: TASK-1\ntitle: A\nstatus: ${status}\n---\nWork.\n`);
}

async function runIssue({ env }, { dir }) {
  const args = [main, 'run', '--issue', 'TASK-1', '--state-dir', join(dir, 'state')];
  const code = await ended(spawn(process.execPath, args, { cwd: dir, env, stdio: ['ignore', 'ignore', 'inherit'] }));
  if (code !== 0) throw new Error(`baton exited with ${code}`);
}

/** Returns once its only issue is done; the result stops the daemon. */
async function startDaemon({ env }, { dir }) {
  const daemon = spawn(process.execPath, [main, 'run', '--state-dir', join(dir, 'state')], {
    cwd: dir,
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = ended(daemon);
  await new Promise((resolve, reject) => {
    let log = '';
    daemon.stderr.on('data', (text) => {
      log += text;
      if (log.includes('"msg":"turn completed"')) writeTask(dir, 'Done');
      if (log.includes('"msg":"run ended"')) resolve();
    });
    exited.then(() => reject(new Error(`the daemon ended: ${log}`)));
  });
  return async () => {
    daemon.kill();
    await exited;
  };
}

async function handshake({ env }) {
  const begin = now();
  const child = spawn(process.execPath, [agent, '/dev/null'], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.write('{"id":0,"method":"initialize","params":{}}\n');
  await new Promise((resolve) => child.stdout.once('data', resolve));
  const elapsed = now() - begin;
  child.stdin.end();
  await ended(child);
  return elapsed;
}

function runNode({ env }, args) {
  return ended(spawn(process.execPath, args, { env, stdio: 'ignore' }));
}

async function timed(work) {
  const begin = now();
  await work();
  return now() - begin;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) printStart(await measureStart());
