import { MarkerSweep, TREE_MARKER_NAME } from './marker-sweep.js';
import { identifyNow, isStillAlive, listProcesses, type ProcessFacts } from './proc-table.js';
import type { ProcessTree } from './stop-ladder.js';

const MAX_LOOKS = 20;

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

  /**
   * Looks again for new processes until none has ended between its listing and its reading: it may have forked before, and on a busy machine
   * some generations end like that. Known processes that do not belong to the tree are skipped.
   */
  async survivors(): Promise<readonly number[]> {
    const known: ProcessFacts[] = [];
    for (let look = 1; ; look += 1) {
      const fresh = await listProcesses(known);
      const marked = await this.#sweep.find(fresh);
      const left = [...new Set([...this.#members([...known, ...fresh]), ...marked.map(({ pid }) => pid)])];
      const hasVanished = fresh.some((each) => this.#sweep.mayBe(each) && !isStillAlive(each));
      if (left.length > 0 || look === MAX_LOOKS || (look > 1 && !hasVanished)) return left;
      known.push(...fresh);
    }
  }

  get swept(): number {
    return this.#sweep.killed;
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
