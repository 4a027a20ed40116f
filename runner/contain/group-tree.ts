import { MarkerSweep, TREE_MARKER_NAME } from './marker-sweep.js';
import { identifyNow, listProcesses, type ProcessFacts } from './proc-table.js';
import type { ProcessTree } from './stop-ladder.js';

/**
 * A tree without a namespace: the process group of the command, and whatever else carries its marker. Best effort: a process
 * that leaves the group *and* clears its environment is not found. Off Linux there is only the group.
 */
export class GroupTree implements ProcessTree {
  readonly #sweep: MarkerSweep;

  constructor(
    readonly leader: { readonly pid: number; hasExited(): boolean },
    treeMarker: string,
  ) {
    // Whatever belongs to it was started by it, and so after it.
    const since = Number(identifyNow(leader.pid)?.startTime ?? 0);
    this.#sweep = new MarkerSweep(treeMarker, { variable: TREE_MARKER_NAME, since });
  }

  async signal(name: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    // Before any look: a look needs descriptors, and the end of the command may be what gives some back.
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
    // Once more at whoever has come since: a process that forks and ends between our listing and our reading is missed by one
    // look. Whoever was seen to be a stranger stays one.
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

    // The leader's number is free for others only once its group is empty: seen again, it is not ours.
    if (reaped && processes.some(({ pid }) => pid === this.leader.pid)) return [];
    const isMember = ({ groupId, isAlive }: ProcessFacts) => isAlive && groupId === this.leader.pid;
    return processes.filter(isMember).map(({ pid }) => pid);
  }

  #signalGroup(signal: NodeJS.Signals | 0): boolean {
    try {
      return process.kill(-this.leader.pid, signal);
    } catch (error) {
      // ESRCH: it ended meanwhile. EPERM: all that is left of it has changed its user; the survivors show it.
      if (error instanceof Error && 'code' in error && (error.code === 'ESRCH' || error.code === 'EPERM')) return false;
      throw error;
    }
  }
}
