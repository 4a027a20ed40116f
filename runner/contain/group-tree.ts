import { MarkerSweep, TREE_MARKER_NAME } from './marker-sweep.js';
import { identifyNow, listProcesses, type ProcessFacts } from './proc-table.js';
import type { ProcessTree } from './stop-ladder.js';

/**
 * A process tree without a namespace: the process group of the command and all processes with its marker. Best effort: a process
 * that leaves the group and clears its environment is not found. Outside of Linux there is only the group.
 */
export class GroupTree implements ProcessTree {
  readonly #sweep: MarkerSweep;

  constructor(
    readonly leader: { readonly pid: number; hasExited(): boolean },
    treeMarker: string,
  ) {
    // The command started all other processes of the tree, so they are younger.
    const since = Number(identifyNow(leader.pid)?.startTime ?? 0);
    this.#sweep = new MarkerSweep(treeMarker, { variable: TREE_MARKER_NAME, since });
  }

  async signal(name: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    // First, because listing needs file descriptors, and the end of the command may free some.
    const isHeld = !this.leader.hasExited();
    if (isHeld) this.#signalGroup(name);
    const members = this.#members(await listProcesses());
    if (!isHeld && members.length > 0) this.#signalGroup(name);
    const pids = new Set(members);
    await this.#sweep.signal(name, (pid) => pids.has(pid));
  }

  async survivors(): Promise<readonly number[]> {
    const all = await listProcesses();
    const left = await this.#among(all);
    if (left.length > 0) return left;
    // List once more for new processes: a process that forks and ends between listing and reading is missed by one pass. Known
    // processes that do not belong to the tree are skipped.
    return this.#among(await listProcesses(all));
  }

  get swept(): number {
    return this.#sweep.killed;
  }

  async #among(processes: readonly ProcessFacts[]): Promise<readonly number[]> {
    const marked = await this.#sweep.find(processes);
    return [...new Set([...this.#members(processes), ...marked.map(({ pid }) => pid)])];
  }

  #members(processes: readonly ProcessFacts[]): readonly number[] {
    const reaped = this.leader.hasExited();
    if (process.platform !== 'linux') return this.#signalGroup(0) ? [this.leader.pid] : [];

    // The kernel reuses the pid of the leader only after its group is empty, so a new process with that pid is not ours.
    if (reaped && processes.some(({ pid }) => pid === this.leader.pid)) return [];
    const isMember = ({ groupId, isAlive }: ProcessFacts) => isAlive && groupId === this.leader.pid;
    return processes.filter(isMember).map(({ pid }) => pid);
  }

  #signalGroup(signal: NodeJS.Signals | 0): boolean {
    try {
      return process.kill(-this.leader.pid, signal);
    } catch (error) {
      // ESRCH: the group has ended. EPERM: all remaining members have changed their user; they count as survivors.
      if (error instanceof Error && 'code' in error && (error.code === 'ESRCH' || error.code === 'EPERM')) return false;
      throw error;
    }
  }
}
