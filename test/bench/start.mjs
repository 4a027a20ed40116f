// The time from starting the command to the agent's first prompt, beside the unavoidable part: starting node, and
// starting an agent and shaking hands with it. All in one run, taking turns, so that the ratios hold on any machine.
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

const times = { node: [], handshake: [], prompt: [] };
for (let round = 0; round < ROUNDS; round++) {
  times.node.push(await timed(() => ended(spawn(process.execPath, ['-e', '0']))));
  times.handshake.push(await handshake());
  times.prompt.push(await startToPrompt());
}

const node = median(times.node);
const handshakeMs = median(times.handshake);
const prompt = median(times.prompt);
console.log(`median of ${ROUNDS}, node ${process.versions.node}`);
console.log(`  start node, do nothing                   ${ms(node)}`);
console.log(`  start an agent, first answer             ${ms(handshakeMs)}`);
console.log(
  `  start baton, first prompt at the agent   ${ms(prompt)}   ${(prompt / (node + handshakeMs)).toFixed(1)} × the two above`,
);

async function startToPrompt() {
  const dir = mkdtempSync(join(tmpdir(), 'baton-bench-'));
  try {
    const stamp = join(dir, 'stamp');
    mkdirSync(join(dir, 'backlog', 'tasks'), { recursive: true });
    writeFileSync(join(dir, 'backlog/tasks/task-1 - A.md'), '---\nid: TASK-1\ntitle: A\nstatus: To Do\n---\nWork.\n');
    const command = [process.execPath, agent, stamp].map((word) => `'${word}'`).join(' ');
    const settings = {
      tracker: { kind: 'local' },
      workspace: { root: 'workspaces', min_free_mb: 1 },
      agent: { max_turns: 1 },
      codex: { command, stall_timeout_ms: 10_000 },
    };
    writeFileSync(join(dir, 'WORKFLOW.md'), `---\n${JSON.stringify(settings)}\n---\n{{ issue.title }}\n`);
    const begin = now();
    const args = [main, 'run', '--issue', 'TASK-1', '--state-dir', join(dir, 'state')];
    const code = await ended(spawn(process.execPath, args, { cwd: dir, stdio: ['ignore', 'ignore', 'inherit'] }));
    if (code !== 0) throw new Error(`baton exited with ${code}`);
    return Number(readFileSync(stamp, 'utf8')) - begin;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function handshake() {
  const begin = now();
  const child = spawn(process.execPath, [agent, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.write('{"id":0,"method":"initialize","params":{}}\n');
  await new Promise((resolve) => child.stdout.once('data', resolve));
  const elapsed = now() - begin;
  child.stdin.end();
  await ended(child);
  return elapsed;
}

async function timed(work) {
  const begin = now();
  await work();
  return now() - begin;
}
