// The built daemon with the probe, in its own process.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { markedWith } from '../support/marked-processes.mjs';

const MAIN = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));
const PROBE = new URL('probe.mjs', import.meta.url).href;
const TOLD = ['warn', 'error', 'fatal'];

export class SoakedDaemon {
  /** Runs that ended, by how they ended. */
  ended = {};
  warnings = {};
  #mark = randomUUID();
  #url = null;
  #samples;
  #dir;
  #heard = () => {};

  constructor(dir, leaks) {
    this.#dir = dir;
    this.#samples = join(dir, 'samples.jsonl');
    const env = {
      PATH: process.env.PATH,
      HOME: join(dir, 'home'),
      TMPDIR: join(dir, 'tmp'),
      BATON_SOAK_MARK: this.#mark,
      BATON_SOAK_PROBE: this.#samples,
      BATON_SOAK_LEAK: leaks.join(),
    };
    const flags = ['--state-dir', join(dir, 'state'), '--log-file', join(dir, 'logs', 'baton.log'), '--port', '0'];
    const args = ['--expose-gc', '--no-warnings', '--import', PROBE, MAIN, 'run', 'WORKFLOW.md', ...flags];
    this.process = spawn(process.execPath, args, { cwd: dir, env, stdio: ['ignore', 'ignore', 'pipe'] });
    this.exited = new Promise((resolve) => this.process.once('exit', (code, signal) => resolve(signal ?? code)));
    createInterface({ input: this.process.stderr }).on('line', (line) => this.#hear(line));
  }

  get runs() {
    return Object.values(this.ended).reduce((a, b) => a + b, 0);
  }

  /** Resolves once it serves its state. */
  async started() {
    while (this.#url === null) {
      const next = new Promise((resolve) => {
        this.#heard = resolve;
      });
      const what = await Promise.race([next, this.exited.then((code) => ({ code }))]);
      if (what !== undefined) throw new Error(`the daemon ended with ${what.code} before it had started`);
    }
  }

  state() {
    const token = readFileSync(join(this.#dir, 'state', 'http-token'), 'utf8').trim();
    const headers = { authorization: `Bearer ${token}` };
    return new Promise((resolve, reject) => {
      get(new URL('/api/v1/state', this.#url), { agent: false, headers }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part) => {
          text += part;
        });
        response.on('end', () => resolve(JSON.parse(text)));
      }).on('error', reject);
    });
  }

  samples() {
    if (!existsSync(this.#samples)) return [];
    return readFileSync(this.#samples, 'utf8')
      .trim()
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  }

  /** All processes that this daemon started, whatever their parent is now. */
  descendants() {
    return markedWith(`BATON_SOAK_MARK=${this.#mark}`).filter((pid) => pid !== this.process.pid);
  }

  #hear(line) {
    const { msg, level, url, outcome, code } = parsed(line);
    if (url !== undefined) this.#url ??= url;
    if (msg === 'run ended') count(this.ended, code ? `${outcome} ${code}` : outcome);
    else if (TOLD.includes(level)) count(this.warnings, msg);
    this.#heard();
  }
}

function parsed(line) {
  try {
    return JSON.parse(line);
  } catch {
    return { msg: line, level: 'error' };
  }
}

function count(counts, name) {
  counts[name] = (counts[name] ?? 0) + 1;
}
