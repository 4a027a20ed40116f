import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { Clock } from '../../src/domain/clock.js';
import { BatonError } from '../../src/domain/errors.js';
import type { ContainedProcess, Containment, NamespaceContainment, SpawnSpec } from './process.js';
import { checkEnvironment, checkNotHidden, checkWorkspace } from './check-spawn.js';
import { commandStatus, enterNamespace } from './enter-namespace.js';
import { DAEMON_MARKER_NAME, MARKER_NAME, TREE_MARKER_NAME } from './find-marked.js';
import { GroupTree } from './group-tree.js';
import { namespaceCommand } from './namespace-command.js';
import { NamespaceTree } from './namespace-tree.js';
import { identifyNow, type ProcessIdentity } from './proc-table.js';
import type { ProcessTree } from './process-tree.js';
import { type StartedProcess, startProcess } from './start-process.js';
import { StopLadderClimb } from './stop-ladder.js';
import { TimeLimit } from './time-limit.js';

const READ_AFTER_STOP_MS = 5_000;

export interface ContainedCommand extends Omit<SpawnSpec, 'script' | 'unset'> {
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
