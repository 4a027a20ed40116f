import { execFileSync, spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { becoming, startTimeOf } from './processes.mjs';
import { until } from './until.mjs';

/** One life of the daemon, from its start to its end; the command is the same in every life of a trial. */
export class Life {
  /** `kill`: where preload.mjs ends it; `maxFiles`: how many files it may have open. */
  constructor(world, { kill = null, maxFiles = null } = {}) {
    this.world = world;
    this.wasKilled = false;
    this.startedAtMs = Date.now();
    this.offset = this.#logSize();
    const { node, main, preload } = world.installation;
    const limit = maxFiles === null ? [] : ['bash', '-c', 'ulimit -n "$0" && exec "$@"', String(maxFiles)];
    const [file, ...args] = [
      ...becoming(world.plan.uid),
      ...limit,
      node,
      ...(kill === null ? [] : ['--import', preload]),
      ...[main, 'run', '--state-dir', world.stateDir, '--log-file', world.logFile],
    ];
    const env = {
      PATH: process.env.PATH,
      HOME: join(world.dir, 'home'),
      TMPDIR: world.tmp,
      ...(kill === null ? {} : { CHAOS_KILL: JSON.stringify(kill), CHAOS_ROOT: world.root }),
    };
    const errors = openSync(join(world.dir, 'stderr'), 'a');
    this.process = spawn(file, args, { cwd: world.dir, env, stdio: ['ignore', 'ignore', errors] });
    closeSync(errors);
    this.startTime = startTimeOf(this.process.pid);
    this.exited = new Promise((resolve) => {
      this.process.once('exit', (code, signal) => {
        this.exit = { code, signal };
        this.endOffset = this.#logSize();
        // preload.mjs did it.
        if (signal === 'SIGKILL') this.wasKilled = true;
        resolve(this.exit);
      });
    });
  }

  get pid() {
    return this.process.pid;
  }

  /** The log lines of this life so far. The last one may have been cut by the kill. */
  lines() {
    const bytes = this.#logSize() === 0 ? Buffer.alloc(0) : readFileSync(this.world.logFile);
    return bytes
      .subarray(this.offset, this.endOffset)
      .toString('utf8')
      .split('\n')
      .flatMap((line) => {
        try {
          return [JSON.parse(line)];
        } catch {
          return [];
        }
      });
  }

  /** Resolves with true once `isTrue` returns true, or with false when the daemon has ended. */
  async reaches(isTrue, what, limitMs) {
    await until(() => this.exit !== undefined || isTrue(), what, limitMs);
    return isTrue();
  }

  says(message, limitMs) {
    return this.reaches(() => this.lines().some((line) => line.msg === message), `the log line "${message}"`, limitMs);
  }

  openFiles() {
    return readdirSync(`/proc/${this.pid}/fd`).length;
  }

  limitFiles(count) {
    const [file, ...args] = [
      ...becoming(this.world.plan.uid),
      'prlimit',
      '--pid',
      String(this.pid),
      `--nofile=${count}:`,
    ];
    execFileSync(file, args);
  }

  async kill() {
    if (this.exit === undefined) this.process.kill('SIGKILL');
    await this.exited;
  }

  #logSize() {
    return statSync(this.world.logFile, { throwIfNoEntry: false })?.size ?? 0;
  }
}
