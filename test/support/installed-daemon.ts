import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const PROJECT = fileURLToPath(new URL('../../', import.meta.url));
const NOBODY = 65534;
const isRoot = process.geteuid?.() === 0;

export type User = 'root' | 'an ordinary user';
/** Whom a daemon can be started as from here: root can become anybody. */
export const USERS: readonly User[] = isRoot ? ['root', 'an ordinary user'] : ['an ordinary user'];

/** The built product with its production packages, in a folder that every user can read. */
export class Installation {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'baton-installed-')));

  constructor() {
    chmodSync(this.folder, 0o755);
    const manifest = readFileSync(join(PROJECT, 'package.json'), 'utf8');
    writeFileSync(join(this.folder, 'package.json'), manifest);
    cpSync(join(PROJECT, 'dist'), join(this.folder, 'dist'), { recursive: true });
    cpSync(join(PROJECT, 'test/support/agents'), join(this.folder, 'agents'), { recursive: true });
    cpSync(join(PROJECT, 'test/support/board-daemon.mjs'), join(this.folder, 'board-daemon.mjs'));
    cpSync(process.execPath, join(this.folder, 'node'));
    for (const name of Object.keys(JSON.parse(manifest).dependencies)) this.#copyPackage(name);
  }

  agent(script: string, ...args: string[]): string {
    return [join(this.folder, 'node'), join(this.folder, 'agents', `${script}.mjs`), ...args]
      .map((word) => `'${word}'`)
      .join(' ');
  }

  /** A daemon on a board of `issues` issues, as this user. */
  start(user: User, options: InstalledOptions): InstalledDaemon {
    return new InstalledDaemon(this.folder, isRoot && user !== 'root' ? NOBODY : null, options);
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  #copyPackage(name: string): void {
    const source = join(PROJECT, 'node_modules', name);
    const target = join(this.folder, 'node_modules', name);
    if (!existsSync(source) || existsSync(target)) return;
    mkdirSync(dirname(target), { recursive: true });
    cpSync(source, target, { recursive: true });
    const { dependencies = {} } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'));
    for (const each of Object.keys(dependencies)) this.#copyPackage(each);
  }
}

interface InstalledOptions {
  readonly settings: string;
  readonly issues: number;
  readonly env?: { readonly [name: string]: string };
  /** The folder of an earlier daemon, to start again with what is there. */
  readonly again?: string;
}

export class InstalledDaemon {
  readonly dir: string;
  readonly process: ChildProcess;
  readonly lines: { readonly [key: string]: unknown }[] = [];
  readonly exited: Promise<number | null>;
  #onLine: () => void = () => {};

  constructor(folder: string, uid: number | null, options: InstalledOptions) {
    const { again, env: more = {} } = options;
    this.dir = again ?? newBoard(uid, options);
    const home = join(this.dir, 'home');
    const workflow = join(this.dir, 'WORKFLOW.md');
    const become = uid === null ? [] : ['setpriv', '--reuid', String(uid), '--regid', String(uid), '--clear-groups'];
    const files = [workflow, join(this.dir, 'state'), join(this.dir, 'board.json')];
    const [file = '', ...args] = [
      ...become,
      join(folder, 'node'),
      join(folder, 'board-daemon.mjs'),
      join(folder, 'dist'),
      ...files,
    ];
    const env = { PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: home, TMPDIR: this.dir, ...more };
    this.process = spawn(file, args, { cwd: this.dir, env, stdio: ['ignore', 'pipe', 'inherit'] });
    this.exited = new Promise((resolve) => this.process.once('exit', resolve));
    if (this.process.stdout) {
      createInterface({ input: this.process.stdout }).on('line', (line) => {
        this.lines.push(JSON.parse(line));
        this.#onLine();
      });
    }
  }

  /** Resolves with the first past or future log line that `wants` accepts. */
  async line(wants: (line: { readonly [key: string]: unknown }) => boolean): Promise<void> {
    const isOver = this.exited.then(() => 'exited' as const);
    for (;;) {
      if (this.lines.some(wants)) return;
      const next = new Promise<'line'>((resolve) => {
        this.#onLine = () => resolve('line');
      });
      if ((await Promise.race([next, isOver])) === 'exited' && !this.lines.some(wants)) {
        throw new Error(
          `the daemon ended without that line:\n${this.lines.map((line) => JSON.stringify(line)).join('\n')}`,
        );
      }
    }
  }

  /** Every issue is done now, under this title. */
  finishIssues(title: string): void {
    const path = join(this.dir, 'board.json');
    const board: { [id: string]: object } = JSON.parse(readFileSync(path, 'utf8'));
    const done = Object.entries(board).map(([id, issue]) => [id, { ...issue, title, state: 'Done' }]);
    writeFileSync(path, JSON.stringify(Object.fromEntries(done)));
  }

  remove(): void {
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** A folder with a workflow, a board and a home of this user. */
function newBoard(uid: number | null, { settings, issues }: InstalledOptions): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'baton-board-')));
  const home = join(dir, 'home');
  mkdirSync(home);
  writeFileSync(
    join(dir, 'WORKFLOW.md'),
    `---\ntracker: { kind: board }\nworkspace: { root: work, min_free_mb: 1 }\npolling: { interval_ms: 100 }\n${settings}\n---\nGo\n`,
  );
  const board = Object.fromEntries(
    Array.from({ length: issues }, (_, n) => [`i${n}`, { identifier: `B-${n}`, title: `t${n}`, state: 'Todo' }]),
  );
  writeFileSync(join(dir, 'board.json'), JSON.stringify(board));
  if (uid !== null) for (const path of [dir, home]) chownSync(path, uid, uid);
  return dir;
}

/** Command lines of live processes that contain `mark`; zombies do not count. */
export function livingWith(mark: string): string[] {
  const own = String(process.pid);
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && pid !== own)
    .flatMap((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ');
        const state = /\) (\S)/.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'))?.[1];
        return command.includes(mark) && state !== 'Z' && state !== 'X' ? [`${pid} ${command}`] : [];
      } catch {
        return []; // it ended while we looked
      }
    });
}

/** Can this user make PID namespaces here? Otherwise the guarantee does not exist and only the fallback can be tested. */
export function hasNamespaces(user: User): boolean {
  const asUser =
    isRoot && user !== 'root'
      ? ['setpriv', '--reuid', String(NOBODY), '--regid', String(NOBODY), '--clear-groups']
      : [];
  const userns = user === 'root' ? [] : ['--user', '--map-current-user'];
  const [file = '', ...args] = [...asUser, 'unshare', ...userns, '--pid', '--fork', '--mount-proc', 'true'];
  try {
    execFileSync(file, args, { stdio: 'ignore', cwd: '/' });
    return true;
  } catch {
    return false;
  }
}
