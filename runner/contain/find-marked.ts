import { forEachPid, type ProcessIdentity, processFacts, readIfThere } from './proc-table.js';

export const MARKER_NAME = 'BATON_RUN_MARKER';
export const DAEMON_MARKER_NAME = 'BATON_DAEMON_MARKER';
/** One for each command: commands of a run may be at work side by side, and the end of one must not be the end of another. */
export const TREE_MARKER_NAME = 'BATON_TREE_MARKER';

/**
 * The living processes that carry a run's marker in their environment: those of the run that left its process group,
 * and after a crash of the daemon those it left behind. A process that changed its own environment is not found. Empty off Linux.
 * `onFound` is called at once, for what must happen before the process can fork again.
 */
export async function findMarked(
  marker: string,
  onFound: (process: ProcessIdentity) => void = () => {},
  variable: string = MARKER_NAME,
): Promise<readonly ProcessIdentity[]> {
  return forEachPid(async (pid) => {
    const found = await markedProcess(pid, `${variable}=${marker}`);
    if (found !== null) onFound(found);
    return found;
  });
}

async function markedProcess(pid: number, entry: string): Promise<ProcessIdentity | null> {
  if (pid === process.pid) return null;
  const environment = await readIfThere(`/proc/${pid}/environ`);
  if (environment === null || !environment.toString('latin1').split('\0').includes(entry)) return null;

  const facts = await processFacts(pid);
  return facts?.isAlive ? { pid, startTime: facts.startTime } : null;
}
