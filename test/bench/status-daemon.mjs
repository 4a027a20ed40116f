// A daemon in its own process on a board of many issues, with agents that send events, for the status benchmark.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { markedWith } from '../support/marked-processes.mjs';
import { ended, now } from './measure.mjs';

const LOOK_EVERY_MS = 250;
const LIMIT_MS = 180_000;
/** Shorter than the default, so the measurement includes reading the whole board. */
const POLL_MS = 10_000;
const main = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));
const agent = fileURLToPath(new URL('status-agent.sh', import.meta.url));

export class StatusDaemon {
  #dir = realpathSync(mkdtempSync(join(tmpdir(), 'baton-bench-')));
  #mark = randomUUID();
  #process = null;
  #url = null;

  /** Without agents it is on hold over the disk, and nothing starts. */
  constructor({ issues, agents, isolation, nodeFlags }) {
    this.agents = agents;
    this.nodeFlags = nodeFlags;
    for (const name of ['home', 'tmp']) mkdirSync(join(this.#dir, name));
    mkdirSync(join(this.#dir, 'backlog', 'tasks'), { recursive: true });
    this.identifiers = Array.from({ length: issues }, (_, index) => `TASK-${index + 1}`);
    for (const [index, id] of this.identifiers.entries()) this.#writeIssue(id, index);
    const settings = {
      tracker: { kind: 'local' },
      polling: { interval_ms: POLL_MS },
      workspace: { root: 'workspaces', min_free_mb: agents === 0 ? 2 ** 40 : 1 },
      agent: { max_concurrent_agents: Math.max(1, agents) },
      codex: { command: `bash '${agent}'`, read_timeout_ms: LIMIT_MS },
      runtime: { isolation, env_allow: ['BATON_BENCH_MARK'] },
    };
    writeFileSync(join(this.#dir, 'WORKFLOW.md'), `---\n${JSON.stringify(settings)}\n---\n{{ issue.title }}\n`);
  }

  get pid() {
    return this.#process.pid;
  }

  get url() {
    return this.#url;
  }

  /** What a request must carry. */
  get headers() {
    return { authorization: `Bearer ${readFileSync(join(this.#dir, 'state', 'http-token'), 'utf8').trim()}` };
  }

  /** Settles when the board has been read and every agent is in its turn; with how long that took. */
  async start() {
    const begin = now();
    const at = (name) => join(this.#dir, name);
    const env = { PATH: process.env.PATH, HOME: at('home'), TMPDIR: at('tmp'), BATON_BENCH_MARK: this.#mark };
    const args = [...this.nodeFlags, main, 'run', '--port', '0', '--state-dir', at('state'), '--log-level', 'info'];
    this.#process = spawn(process.execPath, args, { cwd: this.#dir, env, stdio: ['ignore', 'ignore', 'pipe'] });
    this.#url = await this.#listening();
    const { headers } = this;
    for (;;) {
      const { poll, running } = await (await fetch(`${this.#url}/api/v1/state`, { headers })).json();
      const talking = running.filter(({ session_id }) => session_id !== null).length;
      if (poll.last !== null && talking === this.agents) return now() - begin;
      if (now() - begin > LIMIT_MS) throw new Error(`${talking} of ${this.agents} agents are at work`);
      await wait(LOOK_EVERY_MS);
    }
  }

  /** The number of transcript lines: the events that the daemon has received and written. */
  linesHeard() {
    const folder = join(this.#dir, 'state', 'transcripts');
    const lines = (name) => readFileSync(join(folder, name)).filter((byte) => byte === 10).length;
    return readdirSync(folder).reduce((sum, name) => sum + lines(name), 0);
  }

  async close() {
    if (this.#process && this.#process.exitCode === null && this.#process.signalCode === null) {
      const exited = ended(this.#process);
      this.#process.kill('SIGTERM');
      const killer = setTimeout(() => this.#process.kill('SIGKILL'), LIMIT_MS);
      await exited;
      clearTimeout(killer);
    }
    for (const pid of markedWith(`BATON_BENCH_MARK=${this.#mark}`)) kill(pid);
    rmSync(this.#dir, { recursive: true, force: true, maxRetries: 5 });
  }

  /** One in five waits for another, and so is not eligible. */
  #writeIssue(id, index) {
    const waits = index % 5 === 4 ? `dependencies: [${this.identifiers[index - 1]}]\n` : '';
    const head = `id: ${id}\ntitle: Teach the parser about case ${index + 1} of the grammar\nstatus: To Do\n`;
    const labels = `labels: [parser, area-${index % 7}]\npriority: ${['high', 'medium', 'low'][index % 3]}\n`;
    const body = 'The parser refuses what the grammar allows. It should take it, and a test should say so.\n'.repeat(5);
    const text = `---\n${head}${labels}${waits}created_date: '2026-01-01 10:00'\n---\n\n${body}`;
    writeFileSync(join(this.#dir, `backlog/tasks/${id.toLowerCase()} - Case.md`), text);
  }

  #listening() {
    const said = [];
    return new Promise((resolve, reject) => {
      createInterface({ input: this.#process.stderr }).on('line', (line) => {
        if (said.length < 20) said.push(line);
        const { msg, url } = line.startsWith('{') ? JSON.parse(line) : {};
        if (msg === 'serving status over HTTP') resolve(url);
      });
      this.#process.once('exit', (code) => reject(new Error(`baton exited with ${code}:\n${said.join('\n')}`)));
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
