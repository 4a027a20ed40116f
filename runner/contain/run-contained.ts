import { randomUUID } from 'node:crypto';
import { lstat } from 'node:fs/promises';
import { sep } from 'node:path';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { Clock } from '../../src/domain/clock.js';
import { BatonError } from '../../src/domain/errors.js';
import { GroupTree } from './group-tree.js';
import { DAEMON_MARKER_NAME, MARKER_NAME, TREE_MARKER_NAME } from './marker-sweep.js';
import { commandStatus, enterNamespace, NamespaceTree } from './namespace-tree.js';
import { identifyNow, type ProcessIdentity } from './proc-table.js';
import type {
  ContainedProcess,
  Containment,
  DirectoryIdentity,
  HiddenDirectory,
  NamespaceContainment,
  SpawnSpec,
} from './process.js';
import { namespaceCommand, type StartedProcess, startProcess } from './start-process.js';
import { type ProcessTree, StopLadderClimb } from './stop-ladder.js';
import { TimeLimit } from './time-limit.js';

const READ_AFTER_STOP_MS = 5_000;

interface ContainedCommand extends Omit<SpawnSpec, 'script' | 'unset'> {
  readonly file: string;
  readonly args: readonly string[];
}

/** Starts a command in the form of containment that works here. Throws `BatonError`, and then nothing is left running. */
export async function runContained(command: ContainedCommand, containment: Containment): Promise<ContainedProcess> {
  if (!/^[\w.-]+$/.test(command.marker)) {
    throw new BatonError('internal_error', `${JSON.stringify(command.marker)} cannot mark a process`);
  }
  checkEnvironment(command.env);
  const { trace } = containment;
  const ofDaemon = trace ? { [DAEMON_MARKER_NAME]: trace.daemonMarker } : {};
  const treeMarker = randomUUID();
  const markers = { ...ofDaemon, [MARKER_NAME]: command.marker, [TREE_MARKER_NAME]: treeMarker };
  const marked = { ...command, env: { ...command.env, ...markers }, treeMarker };
  return containment.kind === 'pidns' ? runInNamespace(marked, containment) : runInGroup(marked, containment);
}

type MarkedCommand = ContainedCommand & { readonly treeMarker: string };

async function runInNamespace(command: ContainedCommand, containment: NamespaceContainment): Promise<ContainedProcess> {
  const { cwd, stdin, marker } = command;
  checkNotHidden(cwd, containment.hide);
  // Costs 150 ms the first time: not paid by commands that start nothing.
  const { execa } = await import('execa');
  const workspace = await checkWorkspace(cwd, command.identity);
  const child = await startProcess(execa, namespaceCommand(command, { ...containment, workspace }), {
    cwd,
    stdin,
    report: true,
    channel: command.channel ?? false,
  });
  const first = await enterNamespace(child, containment.clock);
  const holders = record(containment, marker, child.pid, [first]);
  const tree = new NamespaceTree(first, child);
  const exited = child.exited.then((status) => commandStatus(status, tree.wasKilled));
  return contained({ ...child, exited }, tree, containment, () => containment.trace?.ended(marker, holders));
}

async function runInGroup(command: MarkedCommand, containment: Containment): Promise<ContainedProcess> {
  const { cwd, stdin, marker } = command;
  const { execa } = await import('execa');
  await checkWorkspace(cwd, command.identity);
  const child = await startProcess(execa, command, { cwd, stdin, report: false, channel: command.channel ?? false });
  const holders = record(containment, marker, child.pid);
  const tree = new GroupTree(child, command.treeMarker);
  return contained(child, tree, containment, () => containment.trace?.ended(marker, holders));
}

/** Without waiting: what a process prints is lost when it ends before somebody reads. */
function record(
  { trace }: Containment,
  marker: string,
  pid: number,
  others: readonly ProcessIdentity[] = [],
): readonly ProcessIdentity[] {
  if (!trace) return [];
  const outer = identifyNow(pid);
  const holders = outer === null ? others : [outer, ...others];
  trace.started(marker, holders);
  return holders;
}

function contained(
  child: StartedProcess,
  tree: ProcessTree,
  { clock }: Containment,
  onGone: () => void,
): ContainedProcess {
  const { pid, stdin, stdout, stderr, channel, exited, hasExited } = child;
  const climb = new StopLadderClimb({ pid, tree, exited, hasExited, closeStdin: () => stdin?.end() }, clock);
  return {
    pid,
    stdin,
    stdout,
    stderr,
    channel,
    exited,
    async stop(ladder) {
      // Without a stdin of its own it cannot notice its end: no reason to wait for that.
      const result = await climb.stop(stdin === null ? { ...ladder, eofMs: 0 } : ladder);
      if (result.gone) onGone();
      channel?.destroy();
      void closePipes([stdout, stderr], clock); // Cannot fail; nobody has to wait for it.
      return result;
    },
  };
}

/** Gives readers time for what is still in the pipes; then a process that escaped can hold them no longer. */
async function closePipes(pipes: readonly Readable[], clock: Clock): Promise<void> {
  const limit = new TimeLimit(clock, READ_AFTER_STOP_MS);
  await limit.race(Promise.all(pipes.map((pipe) => finished(pipe, { writable: false }).catch(() => {}))));
  limit.end();
  for (const pipe of pipes) pipe.destroy();
}

/** Runs a script with `bash -lc`, contained. Every process of a run is started here. Throws `BatonError`. */
export async function spawnContained(spec: SpawnSpec, containment: Containment): Promise<ContainedProcess> {
  const { script, unset, ...rest } = spec;
  return runContained({ ...rest, file: containment.bash, args: ['-lc', shellText(script, unset)] }, containment);
}

/** Linux refuses a single string of 128 KiB. */
const MAX_VALUE_BYTES = 100_000;

/** Throws `invalid_environment` on what no process could be started with. */
function checkEnvironment(env: { readonly [name: string]: string }): void {
  for (const [name, value] of Object.entries(env)) {
    if (name === '' || /[=\0]/.test(name)) {
      throw new BatonError('invalid_environment', `${JSON.stringify(name)} is no name of a variable; remove it`, {
        name,
      });
    }
    if (value.includes('\0')) {
      throw new BatonError('invalid_environment', `The variable ${name} holds a NUL byte; remove it`, { name });
    }
    const bytes = Buffer.byteLength(value);
    if (bytes > MAX_VALUE_BYTES) {
      const message = `The variable ${name} has ${bytes} bytes, at most ${MAX_VALUE_BYTES} can be passed; use a file instead`;
      throw new BatonError('invalid_environment', message, { name, bytes });
    }
  }
}

/** The text for `bash -lc`. The unset names share the first line with the script, so that its line numbers stay true. */
function shellText(script: string, unset: readonly string[]): string {
  const wrong = unset.find((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  if (wrong !== undefined) {
    throw new BatonError(
      'invalid_environment',
      `${JSON.stringify(wrong)} cannot be unset: it is no name of a variable`,
    );
  }
  if (script.includes('\0')) throw new BatonError('spawn_failed', 'The script holds a NUL byte; remove it');
  const bytes = Buffer.byteLength(script);
  if (bytes > MAX_VALUE_BYTES) {
    throw new BatonError(
      'spawn_failed',
      `The script has ${bytes} bytes, at most ${MAX_VALUE_BYTES} can be passed; use a file`,
    );
  }
  return unset.length === 0 ? script : `unset ${unset.join(' ')}; ${script}`;
}

/** Throws `workspace_changed` unless `cwd` is still the directory that was checked before. Returns its exact identity. */
async function checkWorkspace(cwd: string, expected: DirectoryIdentity): Promise<{ dev: bigint; ino: bigint }> {
  const changed = (what: string, cause?: unknown) =>
    new BatonError('workspace_changed', `${cwd} ${what}; nothing was started in it`, { cwd }, { cause });
  // Exact numbers: some file systems use inode numbers that a double cannot hold.
  const found = await lstat(cwd, { bigint: true }).catch((error: unknown) => {
    throw changed('cannot be read any more', error);
  });
  if (found.isSymbolicLink()) throw changed('has become a symlink');
  if (!found.isDirectory()) throw changed('is no directory any more');
  if (Number(found.dev) !== expected.dev || Number(found.ino) !== expected.ino)
    throw changed('is another directory now');
  return { dev: found.dev, ino: found.ino };
}

/** Throws `spawn_failed` when hiding a directory would take the working directory away with it. */
function checkNotHidden(cwd: string, hide: readonly HiddenDirectory[]): void {
  const around = hide.find(({ path }) => cwd === path || cwd.startsWith(path.endsWith(sep) ? path : path + sep));
  if (around === undefined) return;
  const message = `${cwd} lies inside ${around.path}, which is hidden from every run; move workspace.root out of it`;
  throw new BatonError('spawn_failed', message, { cwd, hidden: around.path });
}
