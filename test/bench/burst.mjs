// Many issues whose agents finish at once: what the daemon itself costs per run. Beside it, the same agents without a daemon: started by
// a bare loop, and by a loop that gives each a namespace and a login shell.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ended, now } from './measure.mjs';

const AT_ONCE = 10;
const limitMs = (issues) => 60_000 + 200 * issues;
const TICKS_PER_SECOND = 100;
const main = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));
const agent = fileURLToPath(new URL('instant-agent.pl', import.meta.url));
const tracker = fileURLToPath(new URL('burst-tracker.mjs', import.meta.url));

/** Issues per second and the processor time of the daemon. */
export async function burst({ issues, isolation, nodeFlags = [], env = {} }) {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'baton-bench-')));
  const server = await startTracker(issues);
  for (const name of ['home', 'tmp']) mkdirSync(join(dir, name));
  const settings = {
    tracker: {
      kind: 'linear',
      provider: { project_slug: 'app-0123456789ab', endpoint: `${server.url}/graphql` },
      active_states: ['Todo'],
      terminal_states: ['Done'],
    },
    workspace: { root: 'workspaces', min_free_mb: 1 },
    agent: { max_concurrent_agents: AT_ONCE },
    codex: { command: agentCommand(server.port), read_timeout_ms: 60_000 },
    runtime: { isolation },
  };
  writeFileSync(join(dir, 'WORKFLOW.md'), `---\n${JSON.stringify(settings)}\n---\n{{ issue.title }}\n`);
  const at = (name) => join(dir, name);
  const daemon = spawn(process.execPath, [...nodeFlags, main, 'run', '--state-dir', at('state')], {
    cwd: dir,
    env: { PATH: process.env.PATH, HOME: at('home'), TMPDIR: at('tmp'), LINEAR_API_KEY: 'bench', ...env },
    stdio: ['ignore', 'ignore', process.env.BENCH_LOG ? 'inherit' : 'ignore'],
  });
  try {
    const begin = now();
    for (;;) {
      const { listed, done } = await server.times();
      if (done.length >= issues && isEmpty(at('workspaces'))) {
        const cpu = cpuSeconds(daemon.pid);
        return {
          rate: (1000 * issues) / (done.at(-1) - listed),
          cleaned: (1000 * issues) / (now() - listed),
          ...cpu,
          peakMb: peakMb(daemon.pid),
        };
      }
      if (now() - begin > limitMs(issues)) throw new Error(`${done.length} of ${issues} issues are done`);
      if (daemon.exitCode !== null) throw new Error(`baton exited with ${daemon.exitCode}`);
      await wait(20);
    }
  } finally {
    daemon.kill();
    if (daemon.exitCode === null) await ended(daemon);
    server.stop();
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** The same agents without a daemon. */
export async function bareLoop({ issues, isNamespaced }) {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'baton-bench-')));
  const server = await startTracker(issues);
  const cpuBefore = process.cpuUsage();
  const begin = now();
  let next = 1;
  const work = async () => {
    while (next <= issues) {
      const cwd = join(dir, `APP-${next++}`);
      mkdirSync(cwd);
      const env = { PATH: process.env.PATH, HOME: dir, PWD: cwd };
      const child = isNamespaced
        ? spawn(
            'setpriv',
            ['--pdeathsig', 'KILL', 'unshare', '--pid', '--mount-proc', '--fork', '--kill-child', 'bash', '-c'].concat(
              'bash -lc "$1" <&0 & wait',
              'bash',
              agentCommand(server.port),
            ),
            { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'inherit'] },
          )
        : spawn('perl', [agent, server.port], { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'inherit'] });
      await session(child);
      rmSync(cwd, { recursive: true });
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    const { user, system } = process.cpuUsage(cpuBefore);
    return { rate: (1000 * issues) / (now() - begin), cpu: (user + system) / 1e6 };
  } finally {
    server.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

async function session(child) {
  const over = ended(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const send = (message) => child.stdin.write(`${JSON.stringify(message)}\n`);
  const next = async () => {
    if ((await lines.next()).done) throw new Error('the agent has ended');
  };
  const ask = async (message) => {
    send(message);
    await next();
  };
  await ask({ id: 1, method: 'initialize', params: {} });
  send({ method: 'initialized' });
  await ask({ id: 2, method: 'thread/start', params: {} });
  await ask({ id: 3, method: 'turn/start', params: {} });
  await next();
  child.stdin.end();
  await over;
}

function agentCommand(port) {
  return `exec perl '${agent}' ${port}`;
}

async function startTracker(issues) {
  const child = spawn(process.execPath, [tracker, issues], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [url] = await new Promise((resolve) =>
    child.stdout.once('data', (data) => resolve(`${data}`.trim().split('\n'))),
  );
  return {
    url,
    port: new URL(url).port,
    times: async () => (await fetch(`${url}/times`)).json(),
    stop: () => child.stdin.end(),
  };
}

function isEmpty(folder) {
  return readdirSync(folder).every((name) => name.startsWith('.'));
}

export function cpuSeconds(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { user: fields[11] / TICKS_PER_SECOND, system: fields[12] / TICKS_PER_SECOND };
}

export function peakMb(pid) {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))[1]) / 1024;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const issues = Number(process.argv[2] ?? 100);
  for (const kind of (process.argv[3] ?? 'bare,namespaced,pidns,none').split(',')) {
    if (kind === 'bare' || kind === 'namespaced')
      console.log(kind, await bareLoop({ issues, isNamespaced: kind !== 'bare' }));
    else
      console.log(
        kind,
        await burst({ issues, isolation: kind, nodeFlags: (process.env.NODE_FLAGS ?? '').split(' ').filter(Boolean) }),
      );
  }
}
