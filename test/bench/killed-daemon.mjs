// A daemon on a folder of issues, that can be killed and started again. Its agents hang in their turns.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isAlive, markedWith } from '../support/marked-processes.mjs';
import { ended, now } from './measure.mjs';

const LOOK_EVERY_MS = 2;
const LIMIT_MS = 60_000;
const main = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));
const agent = fileURLToPath(new URL('hanging-agent.mjs', import.meta.url));

export class KilledDaemon {
  #dir = realpathSync(mkdtempSync(join(tmpdir(), 'baton-bench-')));
  #stamps = join(this.#dir, 'stamps');
  #mark = randomUUID();
  #process = null;

  constructor({ isolation, issues, nodeFlags }) {
    this.issues = issues;
    this.nodeFlags = nodeFlags;
    for (const name of ['stamps', 'home', 'tmp']) mkdirSync(join(this.#dir, name));
    mkdirSync(join(this.#dir, 'backlog', 'tasks'), { recursive: true });
    for (let n = 1; n <= issues; n++) {
      const text = `---\nid: TASK-${n}\ntitle: Number ${n}\nstatus: To Do\n---\nWork.\n`;
      writeFileSync(join(this.#dir, `backlog/tasks/task-${n} - Number.md`), text);
    }
    const settings = {
      tracker: { kind: 'local' },
      workspace: { root: 'workspaces', min_free_mb: 1 },
      agent: { max_concurrent_agents: issues },
      codex: { command: `'${process.execPath}' '${agent}' '${this.#stamps}'`, read_timeout_ms: LIMIT_MS },
      runtime: { isolation, env_allow: ['BATON_BENCH_MARK'] },
    };
    writeFileSync(join(this.#dir, 'WORKFLOW.md'), `---\n${JSON.stringify(settings)}\n---\n{{ issue.title }}\n`);
  }

  /** Starts it and measures the time until every issue has a new run and until no process in `left` is alive. */
  async start(left = []) {
    const before = new Set(readdirSync(this.#stamps));
    const begin = now();
    const dispatched = this.#launch();
    let goneAt = left.length === 0 ? begin : null;
    const fresh = () => readdirSync(this.#stamps).filter((name) => !before.has(name));
    for (let remaining = left; fresh().length < this.issues || goneAt === null; ) {
      remaining = remaining.filter(isAlive);
      if (remaining.length === 0) goneAt ??= now();
      if (now() - begin > LIMIT_MS)
        throw new Error(`${fresh().length} runs have begun, ${remaining.length} processes left`);
      await wait(LOOK_EVERY_MS);
    }
    const prompts = fresh().map((name) => Number(readFileSync(join(this.#stamps, name), 'utf8')));
    return {
      dispatched: (await dispatched) - begin,
      prompted: Math.max(...prompts) - begin,
      gone: goneAt - begin,
      left: left.length,
    };
  }

  /** Kills it with -9 and returns the remaining processes. */
  async kill() {
    const { exitCode, signalCode } = this.#process;
    const exited = ended(this.#process);
    this.#process.kill('SIGKILL');
    if (exitCode === null && signalCode === null) await exited;
    return this.#marked();
  }

  async close() {
    await this.kill();
    for (const pid of this.#marked()) kill(pid);
    rmSync(this.#dir, { recursive: true, force: true, maxRetries: 5 });
  }

  #marked() {
    return markedWith(`BATON_BENCH_MARK=${this.#mark}`);
  }

  /** Resolves with the time at which the last of its runs started, according to its log. */
  #launch() {
    const at = (name) => join(this.#dir, name);
    const env = { PATH: process.env.PATH, HOME: at('home'), TMPDIR: at('tmp'), BATON_BENCH_MARK: this.#mark };
    const args = [...this.nodeFlags, main, 'run', '--state-dir', at('state')];
    this.#process = spawn(process.execPath, args, { cwd: this.#dir, env, stdio: ['ignore', 'ignore', 'pipe'] });
    let started = 0;
    return new Promise((resolve) => {
      createInterface({ input: this.#process.stderr }).on('line', (line) => {
        const { msg, time } = JSON.parse(line);
        if (msg === 'run started' && ++started === this.issues) resolve(Date.parse(time));
      });
    });
  }
}

function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error; // it was on its way out already
  }
}
