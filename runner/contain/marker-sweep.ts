import { setImmediate as yieldToOthers } from 'node:timers/promises';
import {
  forEachPid,
  type ProcessFacts,
  type ProcessIdentity,
  processFacts,
  readIfThere,
  signalExactly,
} from './proc-table.js';

/** Ends the marked processes that nothing else reaches, and remembers how many those were. */
export class MarkerSweep {
  readonly #killed = new Set<string>();

  constructor(
    readonly marker: string,
    readonly search: SearchOptions = {},
  ) {}

  get killed(): number {
    return this.#killed.size;
  }

  /** Signals every marked process but those for which `isReachedOtherwise` holds. */
  async signal(name: NodeJS.Signals, isReachedOtherwise: (pid: number) => boolean = () => false): Promise<void> {
    const hit = (stray: ProcessIdentity) => {
      const wasHit = !isReachedOtherwise(stray.pid) && signalExactly(stray, name);
      if (wasHit && name === 'SIGKILL') this.#killed.add(`${stray.pid} ${stray.startTime}`);
    };
    await findMarked(this.marker, hit, this.search);
  }

  /** Among what was listed just now, or among all. */
  find(processes?: readonly ProcessFacts[]): Promise<readonly ProcessIdentity[]> {
    if (processes) return markedAmong(processes, this.marker, this.search);
    return findMarked(this.marker, () => {}, this.search);
  }
}

export const MARKER_NAME = 'BATON_RUN_MARKER';
export const DAEMON_MARKER_NAME = 'BATON_DAEMON_MARKER';
/** One for each command: commands of a run may be at work side by side, and the end of one must not be the end of another. */
export const TREE_MARKER_NAME = 'BATON_TREE_MARKER';

const LOOKS_AT_EMPTY = 3;

/**
 * The living processes that carry a run's marker in their environment: those of the run that left its process group,
 * and after a crash of the daemon those it left behind. A process that changed its own environment is not found. Empty off Linux.
 * `onFound` is called at once, for what must happen before the process can fork again.
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
  /** Clock ticks since boot: whatever started earlier cannot be meant, and is not looked into. */
  readonly since?: number;
}

/** The same among processes that were listed just now. */
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
  // In the middle of an exec it is empty for a moment.
  for (let looks = 1; environment?.length === 0 && looks < LOOKS_AT_EMPTY; looks += 1) {
    await yieldToOthers();
    environment = await readIfThere(`/proc/${pid}/environ`);
  }
  if (environment === null || !environment.toString('latin1').split('\0').includes(entry)) return null;

  const facts = processFacts(pid);
  return facts?.isAlive ? { pid, startTime: facts.startTime } : null;
}
