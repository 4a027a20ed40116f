// The time that the daemon takes to end after SIGTERM with ten agents at work, each with two processes of its own.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { markedWith } from '../support/marked-processes.mjs';
import { ended, now } from './measure.mjs';

const AGENTS = 10;
const main = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));
const agent = fileURLToPath(new URL('waiting-agent.pl', import.meta.url));

export async function stop({ isolation }) {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'baton-bench-')));
  const mark = randomUUID();
  const at = (name) => join(dir, name);
  for (const name of ['home', 'tmp']) mkdirSync(at(name));
  mkdirSync(at('backlog/tasks'), { recursive: true });
  for (let n = 1; n <= AGENTS; n++) {
    const text = `---\nid: TASK-${n}\ntitle: Number ${n}\nstatus: To Do\n---\nWork.\n`;
    writeFileSync(at(`backlog/tasks/task-${n} - Number.md`), text);
  }
  const settings = {
    tracker: { kind: 'local' },
    workspace: { root: 'workspaces', min_free_mb: 1 },
    agent: { max_concurrent_agents: AGENTS },
    codex: { command: `exec perl '${agent}'`, read_timeout_ms: 60_000 },
    runtime: { isolation, env_allow: ['BATON_BENCH_MARK'] },
  };
  writeFileSync(at('WORKFLOW.md'), `---\n${JSON.stringify(settings)}\n---\n{{ issue.title }}\n`);
  const daemon = spawn(process.execPath, [main, 'run', '--state-dir', at('state')], {
    cwd: dir,
    env: { PATH: process.env.PATH, HOME: at('home'), TMPDIR: at('tmp'), BATON_BENCH_MARK: mark },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  try {
    let turns = 0;
    for await (const line of createInterface({ input: daemon.stderr }))
      if (JSON.parse(line).event === 'session_started' && ++turns === AGENTS) break;
    const begin = now();
    daemon.kill('SIGTERM');
    await ended(daemon);
    return { ms: now() - begin, left: markedWith(`BATON_BENCH_MARK=${mark}`).length };
  } finally {
    if (daemon.exitCode === null) daemon.kill('SIGKILL');
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const isolation of ['pidns', 'none']) console.log(isolation, await stop({ isolation }));
