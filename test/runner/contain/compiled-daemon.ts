import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { LimitSettings, ReachedLimit } from '../../../runner/contain/process.js';
import type { LimitMeans } from '../../../runner/contain/run-limits.js';
import { type Bench, childScript, isRoot } from './workbench.js';

const PROJECT = fileURLToPath(new URL('../../../', import.meta.url));
const NOBODY = 65534;

export type User = 'root' | 'an ordinary user';
/** The users that can start the daemon: root can become any user. */
export const users: readonly User[] = isRoot ? ['root', 'an ordinary user'] : ['an ordinary user'];

export interface DaemonOrder {
  readonly isolation: 'auto' | 'pidns' | 'none';
  readonly marker: string;
  readonly hide: readonly string[];
  readonly cwd: string;
  readonly scripts: readonly string[];
  readonly stay?: boolean;
  /** Runs the daemon as a user that has no mapping, for whom the kernel makes no namespaces. */
  readonly forbidden?: boolean;
  /** Limits of the runs; each script is a run. */
  readonly limits?: LimitSettings;
  /** A folder of cgroup v2 that the daemon is started in. It must belong to the user. */
  readonly group?: string;
}

/** An order for a daemon of this user on this bench; the bench is made theirs. */
export function orderFor(bench: Bench, user: User, wanted: Partial<DaemonOrder>): DaemonOrder {
  chmodSync(bench.root, 0o755);
  if (isRoot && user !== 'root') for (const path of [bench.workspace, bench.state]) chownSync(path, NOBODY, NOBODY);
  return { isolation: 'auto', marker: bench.marker, hide: [bench.state], cwd: bench.workspace, scripts: [], ...wanted };
}

/** The runner, compiled into a folder that every user can read, whatever the rights of the checkout. */
export class CompiledRunner {
  readonly folder = mkdtempSync(join(tmpdir(), 'baton-compiled-'));

  constructor() {
    chmodSync(this.folder, 0o755);
    const config = {
      extends: join(PROJECT, 'tsconfig.json'),
      compilerOptions: { rootDir: PROJECT, outDir: this.folder, typeRoots: [join(PROJECT, 'node_modules/@types')] },
      files: ['detect-containment', 'spawn-contained', 'capture-output', 'run-limits'].map((name) =>
        join(PROJECT, `runner/contain/${name}.ts`),
      ),
      include: [],
    };
    writeFileSync(join(this.folder, 'tsconfig.json'), JSON.stringify(config));
    writeFileSync(join(this.folder, 'package.json'), '{"type":"module"}');
    execFileSync(process.execPath, [join(PROJECT, 'node_modules/typescript/bin/tsc'), '-p', this.folder]);
    for (const name of ['init.sh', 'limits.sh', 'outer.sh'])
      copyFileSync(join(PROJECT, 'runner/contain', name), join(this.folder, 'runner/contain', name));
    for (const name of ['daemon.mjs', 'stubborn.sh']) copyFileSync(childScript(name), join(this.folder, name));
    this.#copyPackage('execa');
    // Also with a strict umask.
    execFileSync('chmod', ['-R', 'a+rX', this.folder]);
  }

  daemon(user: User, order: DaemonOrder): ChildProcess {
    const command = [this.node(user), join(this.folder, 'daemon.mjs'), this.folder, JSON.stringify(order)];
    const become = isRoot && user !== 'root' ? becomeNobody : [];
    const enter =
      order.group === undefined ? [] : ['bash', '-c', `echo $$ >'${order.group}/cgroup.procs'; exec "$@"`, 'enter'];
    const forbid = order.forbidden ? ['unshare', '--user', '--'] : [];
    const [file = '', ...args] = [...enter, ...become, ...forbid, ...command];
    const env = { ...process.env, TRACKER_TOKEN: 'canary' };
    // A high descriptor of a folder that is to be hidden, as a shell may leave one open.
    const open = order.hide.slice(0, 1).map((folder) => openSync(folder, 'r'));
    const gap = Array.from({ length: 20 }, () => 'ignore' as const);
    const child = spawn(file, args, { cwd: '/', env, stdio: ['ignore', 'pipe', 'inherit', ...gap, ...open] });
    for (const fd of open) closeSync(fd);
    return child;
  }

  /** Runs the scripts one after the other as this user; one answer per script. */
  async answers(
    user: User,
    order: DaemonOrder,
  ): Promise<{ kind: string; reason: string; means?: LimitMeans; runs: readonly DaemonAnswer[] }> {
    const daemon = this.daemon(user, order);
    let text = '';
    daemon.stdout?.on('data', (chunk) => {
      text += chunk;
    });
    await new Promise((resolve) => daemon.once('close', resolve));
    const [first, ...runs] = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    return { ...first, runs };
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** A Node.js that this user can run. */
  node(user: User): string {
    if (!isRoot || user === 'root') return process.execPath;
    try {
      execFileSync('setpriv', [...becomeNobody.slice(1), process.execPath, '--version'], { cwd: '/', stdio: 'ignore' });
      return process.execPath;
    } catch {
      // A node binary below root's home, which other users cannot enter.
      const copy = join(this.folder, 'node');
      copyFileSync(process.execPath, copy);
      chmodSync(copy, 0o755);
      return copy;
    }
  }

  #copyPackage(name: string): void {
    const target = join(this.folder, 'node_modules', name);
    const source = join(PROJECT, 'node_modules', name);
    if (!existsSync(source)) return; // Nested in the package that needs it, and copied with that.
    const { dependencies = {} } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'));
    mkdirSync(dirname(target), { recursive: true });
    cpSync(source, target, { recursive: true });
    for (const each of Object.keys(dependencies)) this.#copyPackage(each);
  }
}

const becomeNobody = ['setpriv', '--reuid', String(NOBODY), '--regid', String(NOBODY), '--clear-groups'];

export interface DaemonAnswer {
  readonly stdout: string;
  readonly stderr: string;
  readonly status: { readonly code: number | null; readonly signal: string | null };
  readonly stop: { readonly gone: boolean };
  readonly reached?: ReachedLimit | null;
  readonly warnings: readonly { readonly message: string }[];
}
