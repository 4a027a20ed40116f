import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { forEachPid, type ProcessFacts, type ProcessIdentity, processFacts, readIfThere } from './proc-table.js';

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

export interface SearchOptions {
  readonly variable?: string;
  /** Clock ticks since boot: whatever started earlier cannot be meant, and is not looked into. */
  readonly since?: number;
}

/** The same among processes that were listed just now. */
export async function markedAmong(
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
