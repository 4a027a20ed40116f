// Agents that write events as fast as they can: events per second, the processor time and peak memory of the daemon, and the delay of its
// event loop. Beside it a bare loop that reads the same files and parses each line.
//   node test/bench/flood.mjs [agents] [events of each] [rounds]      MAIN=<dist/src/main.js of another build> NODE_FLAGS=…
import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { cpuSeconds, peakMb } from './burst.mjs';
import { ended, median, now } from './measure.mjs';

const LIMIT_MS = 300_000;
const at = (name) => fileURLToPath(new URL(name, import.meta.url));

/** `main`: the program of the daemon, when it is not this build. */
export async function flood({ agents, events, main = at('../../dist/src/main.js'), nodeFlags = [] }) {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'baton-bench-')));
  const meet = join(dir, 'meet');
  for (const path of ['home', 'tmp', 'meet', 'backlog/tasks']) mkdirSync(join(dir, path), { recursive: true });
  const issues = Array.from({ length: agents }, (_, n) => `TASK-${n + 1}`);
  const command = `exec bash '${at('flood-agent.sh')}' '${meet}' ${threadId('${PWD##*/}')}`;
  for (const issue of issues) {
    const task = `---\nid: ${issue}\ntitle: Flood\nstatus: To Do\n---\nWork.\n`;
    writeFileSync(join(dir, 'backlog/tasks', `${issue.toLowerCase()} - Flood.md`), task);
    writeFileSync(join(meet, `events-${issue}`), eventsOf(threadId(issue), events));
  }
  const settings = {
    tracker: { kind: 'local' },
    workspace: { root: 'workspaces', min_free_mb: 1 },
    agent: { max_concurrent_agents: agents },
    codex: { command, on_approval_request: 'accept', read_timeout_ms: 60_000 },
  };
  writeFileSync(join(dir, 'WORKFLOW.md'), `---\n${JSON.stringify(settings)}\n---\n{{ issue.title }}\n`);
  const delayFile = join(dir, 'delay.json');
  const args = [...nodeFlags, '--import', at('loop-delay.mjs'), main, 'run', '--state-dir', join(dir, 'state')];
  const daemon = spawn(process.execPath, args, {
    cwd: dir,
    env: { PATH: process.env.PATH, HOME: join(dir, 'home'), TMPDIR: join(dir, 'tmp'), BATON_BENCH_DELAY: delayFile },
    stdio: ['ignore', 'ignore', process.env.BENCH_LOG ? 'inherit' : 'ignore'],
  });
  const count = (prefix) => readdirSync(meet).filter((name) => name.startsWith(prefix)).length;
  const until = async (isTrue) => {
    const begin = now();
    while (!isTrue()) {
      if (daemon.exitCode !== null) throw new Error(`baton exited with ${daemon.exitCode}`);
      if (now() - begin > LIMIT_MS) throw new Error(`${count('ready-')} agents began, ${count('done-')} are done`);
      await wait(20);
    }
  };
  const delay = async () => {
    rmSync(delayFile, { force: true });
    daemon.kill('SIGUSR2');
    await until(() => existsSync(delayFile) && statSync(delayFile).size > 0);
    return JSON.parse(readFileSync(delayFile, 'utf8'));
  };
  try {
    await until(() => count('ready-') === agents);
    await delay();
    const before = cpuSeconds(daemon.pid);
    writeFileSync(join(meet, 'go'), '');
    await until(() => count('done-') === agents);
    const { user, system } = cpuSeconds(daemon.pid);
    const cpu = user + system - before.user - before.system;
    const doneMs = Math.max(...issues.map((issue) => statSync(join(meet, `done-${issue}`)).mtimeMs));
    const seconds = (doneMs - statSync(join(meet, 'go')).mtimeMs) / 1000;
    const total = agents * events;
    return { rate: total / seconds, perCpuSecond: total / cpu, peakMb: peakMb(daemon.pid), delay: await delay() };
  } finally {
    daemon.kill();
    if (daemon.exitCode === null) await ended(daemon);
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** The same events without a daemon. */
export async function bareReader({ agents, events }) {
  const dir = mkdtempSync(join(tmpdir(), 'baton-bench-'));
  const files = Array.from({ length: agents }, (_, n) => join(dir, String(n)));
  for (const file of files) writeFileSync(file, eventsOf(threadId('TASK-1'), events));
  try {
    const reader = spawn(process.execPath, [at('flood-reader.mjs'), ...files], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    reader.stdout.on('data', (data) => {
      text += data;
    });
    await ended(reader);
    return JSON.parse(text);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** As long as the ids of Codex, because each event repeats it. */
function threadId(issue) {
  return `019a8c2e-7d41-7aa0-9b1d-${issue}`;
}

/**
 * A mix as Codex writes it: of a hundred events some 95 are pieces of texts and of output, a few characters to a line each; the others are
 * the beginnings and ends of items, and now and then the token counts.
 */
function eventsOf(thread, count) {
  const lines = [];
  const add = (method, params) =>
    lines.push(`${JSON.stringify({ method, params: { threadId: thread, turnId: 'turn-1', ...params } })}\n`);
  for (let n = 0; lines.length < count; n += 1) {
    const [message, command] = [`msg_0f3a91c27be44d5a_${n}`, `call_Xq7TzN2rVb5K_${n}`];
    const words = 'I will look at the parser first , then at the tests that fail , and fix what is wrong .'.split(' ');
    const output = Array.from(
      { length: 60 },
      (_, i) => `  ✓ test ${i} of the parser keeps what it is given (${i} ms)\n`,
    );
    add('item/started', { item: { type: 'agentMessage', id: message, text: '' } });
    for (let i = 0; i < 80; i += 1)
      add('item/agentMessage/delta', { itemId: message, delta: ` ${words[i % words.length]}` });
    add('item/completed', { item: { type: 'agentMessage', id: message, text: words.join(' ').repeat(4) } });
    const run = {
      type: 'commandExecution',
      id: command,
      command: '/bin/bash -lc "npm test"',
      cwd: '/tmp',
      processId: '7',
    };
    add('item/started', { item: { ...run, status: 'inProgress', aggregatedOutput: null, exitCode: null } });
    for (const delta of output) add('item/commandExecution/outputDelta', { itemId: command, delta });
    const ended = { status: 'completed', aggregatedOutput: output.join(''), exitCode: 0, durationMs: 1_000 };
    add('item/completed', { item: { ...run, ...ended } });
    const total = { inputTokens: n * 900, cachedInputTokens: n * 800, outputTokens: n * 50, totalTokens: n * 950 };
    add('thread/tokenUsage/updated', { tokenUsage: { total, last: total, modelContextWindow: 272_000 } });
  }
  return lines.slice(0, count).join('');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [agents, events, rounds] = [process.argv[2] ?? 10, process.argv[3] ?? 20_000, process.argv[4] ?? 5].map(Number);
  const nodeFlags = (process.env.NODE_FLAGS ?? '').split(' ').filter(Boolean);
  // Builds take turns, so that the ratios hold on a busy machine.
  const builds = { bare: () => bareReader({ agents, events }) };
  for (const main of (process.env.MAIN ?? '').split(',').filter(Boolean))
    builds[main] = () => flood({ agents, events, main, nodeFlags });
  builds.baton = () => flood({ agents, events, nodeFlags });
  const results = Object.fromEntries(Object.keys(builds).map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1)
    for (const [name, measure] of Object.entries(builds)) results[name].push(await measure());
  for (const [name, rows] of Object.entries(results)) {
    const of = (value) => median(rows.map(value));
    const thousands = (value) => `${(value / 1000).toFixed(0)}k`;
    const delay = rows[0].delay
      ? ` · loop delay p50 ${of((r) => r.delay.p50).toFixed(0)} p99 ${of((r) => r.delay.p99).toFixed(0)} max ${of((r) => r.delay.max).toFixed(0)} ms`
      : '';
    console.log(
      `${name}: ${thousands(of((r) => r.rate))} events/s · ${thousands(of((r) => r.perCpuSecond))} per second of processor time · peak ${of((r) => r.peakMb).toFixed(0)} MB${delay}`,
    );
  }
}
