import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { taskFile, taskText, workflowText } from './world-files.mjs';

/** The folder of one trial: a backlog, a workflow, the scripts, and the wishes of the driver that the scripts look at. */
export class World {
  constructor(installation, plan) {
    this.plan = plan;
    this.openFiles = [];
    this.isMounted = false;
    this.installation = installation;
    this.number = String(100_000_000 + Math.floor(Math.random() * 900_000_000));
    this.dir = join(installation.folder, `trial-${this.number}`);
    this.root = join(this.dir, 'work');
    this.stateDir = join(this.dir, 'state');
    this.tmp = join(this.dir, 'tmp');
    this.logFile = join(this.dir, 'log.jsonl');
    this.issues = Array.from({ length: plan.issues }, (_, index) => `TASK-${index + 1}`);
    for (const name of ['', 'home', 'tmp', 'locks', 'hold', 'fail', 'state', 'backlog', 'backlog/tasks']) {
      mkdirSync(join(this.dir, name), { mode: 0o700 });
    }
    symlinkSync(installation.scripts, join(this.dir, 'scripts'));
    this.#write('number', this.number);
    this.#write('children', plan.children.join(' '));
    this.#write('marks', '');
    if (plan.withGit) this.#write('with-git', '');
    if (plan.isBusy) this.#write('busy', '');
    for (const [issue, times] of Object.entries(plan.failures)) this.#write(`fail/${issue}`, String(times));
    for (const issue of this.issues) this.#write(taskFile(issue), taskText(issue));
    this.#write('WORKFLOW.md', workflowText(this));
    if (plan.uid !== null) this.#giveTo(plan.uid, this.dir);
  }

  /** Makes the scripts of this issue stop at `where`. */
  hold(where, issue) {
    const path = join(this.dir, 'hold', `${where}.${issue}`);
    execFileSync('mkfifo', ['-m', '666', path]);
    if (this.plan.uid !== null) chownSync(path, this.plan.uid, this.plan.uid);
  }

  /** Releases the processes that stopped there. */
  release(where, issue) {
    const path = join(this.dir, 'hold', `${where}.${issue}`);
    const file = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    writeSync(file, 'go\n');
    rmSync(path);
    // Closing at once could lose the line before the reader has it.
    this.openFiles.push(file);
  }

  /** No process stops from now on; the stopped ones stay stopped. */
  unhold() {
    for (const name of readdirSync(join(this.dir, 'hold'))) rmSync(join(this.dir, 'hold', name));
  }

  marks() {
    return readFileSync(join(this.dir, 'marks'), 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => {
        const [time, what, where, issue, run, outcome] = line.split(' ');
        return { atMs: Number(time) * 1000, what, where, issue, run, outcome };
      });
  }

  /** The whole output of the daemon, standard error included. */
  log() {
    return readFileSync(join(this.dir, 'stderr'), 'utf8');
  }

  /** Issue → status according to the files. */
  statuses() {
    const entries = this.issues.map((issue) => {
      const text = readFileSync(join(this.dir, taskFile(issue)), 'utf8');
      return [issue, /^status: *(.*)$/m.exec(text)?.[1].replace(/^['"]|['"]$/g, '') ?? '?'];
    });
    return Object.fromEntries(entries);
  }

  /** A person writes into the description. */
  edit(issue, text) {
    const path = join(this.dir, taskFile(issue));
    const edited = `${readFileSync(path, 'utf8')}\n${text}\n`;
    writeFileSync(`${path}.new`, edited);
    if (this.plan.uid !== null) chownSync(`${path}.new`, this.plan.uid, this.plan.uid);
    renameSync(`${path}.new`, path);
  }

  /** The state directory on its own disk, which can be full. */
  mountState(sizeKb) {
    const owner = this.plan.uid ?? 0;
    execFileSync('mount', [
      '-t',
      'tmpfs',
      '-o',
      `size=${sizeKb}k,mode=700,uid=${owner},gid=${owner}`,
      'chaos',
      this.stateDir,
    ]);
    this.isMounted = true;
  }

  fillState() {
    const file = openSync(join(this.stateDir, 'ballast'), 'w');
    try {
      for (let bytes = 65_536; bytes >= 1_024; bytes /= 2) fill(file, Buffer.alloc(bytes));
    } finally {
      closeSync(file);
    }
  }

  emptyState() {
    rmSync(join(this.stateDir, 'ballast'), { force: true });
  }

  hideBacklog() {
    renameSync(join(this.dir, 'backlog'), join(this.dir, 'backlog-away'));
  }

  showBacklog() {
    renameSync(join(this.dir, 'backlog-away'), join(this.dir, 'backlog'));
  }

  /** After a trial that broke off in the middle of a fault. */
  repair() {
    this.unhold();
    if (existsSync(join(this.dir, 'backlog-away'))) this.showBacklog();
  }

  remove() {
    for (const file of this.openFiles) closeSync(file);
    if (this.isMounted) execFileSync('umount', [this.stateDir]);
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** Keeps everything on an ordinary disk for inspection. */
  keep() {
    for (const file of this.openFiles) closeSync(file);
    if (!this.isMounted) return;
    cpSync(this.stateDir, `${this.stateDir}-kept`, { recursive: true });
    execFileSync('umount', [this.stateDir]);
  }

  #write(name, text) {
    writeFileSync(join(this.dir, name), text);
  }

  #giveTo(uid, path) {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      const inner = join(path, entry.name);
      if (entry.isDirectory()) this.#giveTo(uid, inner);
      else if (entry.isFile()) chownSync(inner, uid, uid);
    }
    chmodSync(path, 0o755);
    if (path === this.stateDir) chmodSync(path, 0o700);
    chownSync(path, uid, uid);
  }
}

function fill(file, bytes) {
  try {
    for (;;) writeSync(file, bytes);
  } catch (error) {
    if (error.code !== 'ENOSPC') throw error;
  }
}
