import { setTimeout as pause } from 'node:timers/promises';
import {
  forEachPid,
  type ProcessFacts,
  type ProcessIdentity,
  processFacts,
  readIfThere,
  signalExactly,
} from './proc-table.js';

/** Signals marked processes that nothing else reaches, and counts those that it killed. */
export class MarkerSweep {
  readonly #killed = new Set<string>();

  constructor(
    readonly marker: string,
    readonly search: SearchOptions = {},
  ) {}

  get killed(): number {
    return this.#killed.size;
  }

  /** Signals every marked process, except those for which `isReachedOtherwise` returns true. */
  async signal(name: NodeJS.Signals, isReachedOtherwise: (pid: number) => boolean = () => false): Promise<void> {
    const hit = (stray: ProcessIdentity) => {
      const wasHit = !isReachedOtherwise(stray.pid) && signalExactly(stray, name);
      if (wasHit && name === 'SIGKILL') this.#killed.add(`${stray.pid} ${stray.startTime}`);
    };
    await findMarked(this.marker, hit, this.search);
  }

  /** False for a process that started before the search begins. */
  mayBe({ startTime }: ProcessFacts): boolean {
    return Number(startTime) >= (this.search.since ?? 0);
  }

  /** Searches the given processes, or all. */
  find(processes?: readonly ProcessFacts[]): Promise<readonly ProcessIdentity[]> {
    if (processes) return markedAmong(processes, this.marker, this.search);
    return findMarked(this.marker, () => {}, this.search);
  }
}

export const MARKER_NAME = 'BATON_RUN_MARKER';
export const DAEMON_MARKER_NAME = 'BATON_DAEMON_MARKER';
/** One per command: commands of a run can be active at the same time, and ending one must not end another. */
export const TREE_MARKER_NAME = 'BATON_TREE_MARKER';

/** On a busy machine a process can be without an environment for some milliseconds. */
const MAX_ENVIRONMENT_READS = 20;
const READ_INTERVAL_MS = 1;

/**
 * The living processes that carry a run's marker in their environment: those that left its process group, and after a crash of the daemon
 * those that it left behind. A process that changed its own environment is not found. Returns nothing outside of Linux. `onFound` is
 * called at once, for an action that must happen before the process can fork again.
 */
export async function findMarked(
  marker: string,
  onFound: (process: ProcessIdentity) => void = () => {},
  { variable = MARKER_NAME, since = 0 }: SearchOptions = {},
): Promise<readonly ProcessIdentity[]> {
  return forEachPid(async (pid) => {
    const found = await marked(processFacts(pid), `${variable}=${marker}`, since);
    if (found !== null) onFound(found);
    return found;
  });
}

interface SearchOptions {
  readonly variable?: string;
  /** Clock ticks since boot. Processes that started earlier are skipped. */
  readonly since?: number;
}

async function markedAmong(
  processes: readonly ProcessFacts[],
  marker: string,
  { variable = MARKER_NAME, since = 0 }: SearchOptions,
): Promise<readonly ProcessIdentity[]> {
  const found = await Promise.all(processes.map((facts) => marked(facts, `${variable}=${marker}`, since)));
  return found.filter((each) => each !== null);
}

async function marked(before: ProcessFacts | null, entry: string, since: number): Promise<ProcessIdentity | null> {
  if (!before?.isAlive || before.pid === process.pid || Number(before.startTime) < since) return null;
  const { pid } = before;
  let environment = await readIfThere(`/proc/${pid}/environ`);
  // During an exec the environment is empty for a moment. Threads of the kernel never have one.
  for (
    let reads = 1;
    environment?.length === 0 && !isKernelThread(before) && reads < MAX_ENVIRONMENT_READS;
    reads += 1
  ) {
    await pause(READ_INTERVAL_MS);
    environment = await readIfThere(`/proc/${pid}/environ`);
  }
  if (environment === null || !environment.toString('latin1').split('\0').includes(entry)) return null;

  const facts = processFacts(pid);
  return facts?.isAlive ? { pid, startTime: facts.startTime } : null;
}

function isKernelThread({ pid, parentId }: ProcessFacts): boolean {
  return pid === KERNEL_PARENT || parentId === KERNEL_PARENT;
}

/** kthreadd. In a PID namespace this is an ordinary process, whose children are read once only. */
const KERNEL_PARENT = 2;
