import { randomUUID } from 'node:crypto';
import { lstat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { type Clock, TimeLimit } from '../../src/domain/clock.js';
import { BatonError, toBatonError } from '../../src/domain/errors.js';
import { GroupTree } from './group-tree.js';
import { checkNotHidden, foldersToFix, outermost, pinExisting } from './hidden-directories.js';
import { openInputPipe } from './input-pipe.js';
import { DAEMON_MARKER_NAME, MARKER_NAME, TREE_MARKER_NAME } from './marker-sweep.js';
import { enterNamespace, NamespaceTree } from './namespace-tree.js';
import { identifyNow, type ProcessIdentity } from './proc-table.js';
import type {
  ContainedProcess,
  Containment,
  DirectoryIdentity,
  HiddenDirectory,
  NamespaceContainment,
  ProgramCommand,
  SpawnOptions,
  SpawnSpec,
} from './process.js';
import { hasLimit, limitedCommand, namespaceCommand, type StartedProcess, startProcess } from './start-process.js';
import { type ProcessTree, StopLadderClimb } from './stop-ladder.js';

const READ_AFTER_STOP_MS = 5_000;

/**
 * Starts a script or a program, contained in the way that works here. Every process of a run is started by this function. Throws
 * `BatonError`, and then nothing is left running.
 */
export async function spawnContained(spec: SpawnSpec, containment: Containment): Promise<ContainedProcess> {
  if (!/^[\w.-]+$/.test(spec.marker)) {
    throw new BatonError('internal_error', `${JSON.stringify(spec.marker)} cannot mark a process`);
  }
  checkEnvironment(spec.env);
  const { file, args } = 'script' in spec ? shellCommand(spec.script, spec.unset, containment) : spec;
  const { trace } = containment;
  const daemonMarker = trace ? { [DAEMON_MARKER_NAME]: trace.daemonMarker } : {};
  const treeMarker = randomUUID();
  const markers = { ...daemonMarker, [MARKER_NAME]: spec.marker, [TREE_MARKER_NAME]: treeMarker };
  const marked = { ...spec, file, args, env: { ...spec.env, ...markers }, treeMarker };
  // Loading execa takes 150 ms. Commands that start no process do not need it.
  const { execa } = await import('execa');
  const input = spec.stdin === 'kernel_pipe' ? await openInputPipe(execa, containment.bash) : null;
  const stdin = input?.readEnd ?? (spec.stdin === 'kernel_pipe' ? 'pipe' : spec.stdin);
  const spawn = () =>
    containment.kind === 'pidns'
      ? spawnInNamespace({ ...marked, stdin }, containment)
      : spawnInGroup({ ...marked, stdin }, containment);
  try {
    return { ...(await spawn()), input };
  } catch (error) {
    input?.close();
    throw error;
  } finally {
    input?.closeReadEnd();
  }
}

interface MarkedCommand extends Omit<SpawnOptions, 'stdin'>, ProgramCommand {
  readonly stdin: 'pipe' | 'ignore' | number;
  readonly treeMarker: string;
}

async function spawnInNamespace(command: MarkedCommand, containment: NamespaceContainment): Promise<ContainedProcess> {
  const { cwd, stdin, marker } = command;
  const hide = outermost([...(await moreToHide(containment)), ...containment.hide, ...(command.hide ?? [])]);
  checkNotHidden(cwd, hide);
  const fix = await foldersToFix(hide, cwd);
  const { execa } = await import('execa');
  const workspace = await checkWorkspace(cwd, command.identity);
  containment.halted?.throwIfAborted();
  const limits = containment.limits?.of(marker) ?? null;
  const child = await startProcess(execa, namespaceCommand(command, { ...containment, hide, fix, workspace, limits }), {
    cwd,
    stdin,
    report: true,
    channel: command.channel ?? false,
  });
  const { first, commandPid, ended } = await enterNamespace(child, containment.clock);
  const holders = record(containment, marker, child.pid, [first]);
  const tree = new NamespaceTree(first, child);
  const exited = child.exited.then(async () => (await ended) ?? { code: null, signal: 'SIGKILL' as const });
  const onGone = () => containment.trace?.ended(marker, holders);
  return contained({ ...child, pid: commandPid, exited }, tree, containment.clock, { ...command, onGone });
}

async function moreToHide({ hideMore }: NamespaceContainment): Promise<readonly HiddenDirectory[]> {
  try {
    return hideMore ? await pinExisting(await hideMore()) : [];
  } catch (cause) {
    const message = `what must be hidden from runs cannot be read: ${toBatonError(cause).message}`;
    throw new BatonError('spawn_failed', message, {}, { cause });
  }
}

async function spawnInGroup(command: MarkedCommand, containment: Containment): Promise<ContainedProcess> {
  const { cwd, stdin, marker } = command;
  const { execa } = await import('execa');
  await checkWorkspace(cwd, command.identity);
  containment.halted?.throwIfAborted();
  const limits = process.platform === 'linux' ? containment.limits?.of(marker) : null;
  const limited = limits && hasLimit(limits) ? limitedCommand(command, containment.bash, limits) : command;
  const child = await startProcess(execa, limited, { cwd, stdin, report: false, channel: command.channel ?? false });
  const holders = record(containment, marker, child.pid);
  const tree = new GroupTree(child, command.treeMarker);
  const onGone = () => containment.trace?.ended(marker, holders);
  return contained(child, tree, containment.clock, { ...command, onGone });
}

/** Does not wait: the output of a process that ends before its caller reads it would be lost. */
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
  clock: Clock,
  { onGone, onUnkillable }: Pick<SpawnOptions, 'onUnkillable'> & { onGone(): void },
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
      // A process without a stdin cannot notice its end, so there is nothing to wait for.
      const result = await climb.stop(stdin === null ? { ...ladder, eofMs: 0 } : ladder);
      if (result.gone) onGone();
      channel?.destroy();
      void closePipes([stdout, stderr], clock); // Cannot fail, and need not be awaited.
      if (!result.gone && onUnkillable) {
        onUnkillable(result.survivors);
        await result.whenGone;
      }
      return result;
    },
  };
}

/** Gives readers time for the rest of the output, then closes the pipes, which an escaped process may hold open. */
async function closePipes(pipes: readonly Readable[], clock: Clock): Promise<void> {
  const limit = new TimeLimit(clock, READ_AFTER_STOP_MS);
  await limit.race(Promise.all(pipes.map((pipe) => finished(pipe, { writable: false }).catch(() => {}))));
  limit.end();
  for (const pipe of pipes) pipe.destroy();
}

function shellCommand(script: string, unset: readonly string[], { bash }: Containment): ProgramCommand {
  return { file: bash, args: ['-lc', shellText(script, unset)] };
}

/** Linux refuses a single string of 128 KiB. */
const MAX_VALUE_BYTES = 100_000;

/** Throws `invalid_environment` for variables that no process can be started with. */
function checkEnvironment(env: { readonly [name: string]: string }): void {
  for (const [name, value] of Object.entries(env)) {
    if (name === '' || /[=\0]/.test(name)) {
      throw new BatonError('invalid_environment', `${JSON.stringify(name)} is not a variable name; remove it`, {
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

/** The text for `bash -lc`. The `unset` is on the first line of the script, so that line numbers in errors stay correct. */
function shellText(script: string, unset: readonly string[]): string {
  const wrong = unset.find((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  if (wrong !== undefined) {
    throw new BatonError('invalid_environment', `${JSON.stringify(wrong)} cannot be unset: it is not a variable name`);
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
  // As bigint: some file systems use inode numbers that a double cannot represent.
  const found = await lstat(cwd, { bigint: true }).catch((error: unknown) => {
    throw changed('cannot be read any more', error);
  });
  if (found.isSymbolicLink()) throw changed('has become a symlink');
  if (!found.isDirectory()) throw changed('is not a directory any more');
  if (Number(found.dev) !== expected.dev || Number(found.ino) !== expected.ino)
    throw changed('is another directory now');
  return { dev: found.dev, ino: found.ino };
}
