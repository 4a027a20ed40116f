/**
 * All processes of one command, however they are held together: by a PID namespace (`namespace-tree.ts`) or by a
 * process group and a marker (`group-tree.ts`). The stop ladder knows nothing else of them.
 */
export interface ProcessTree {
  /** Sends the signal to everything of the tree that can be reached. Sending to what is gone is fine. */
  signal(name: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** The pids that are still alive; empty only when nothing of the tree was found. */
  survivors(): Promise<readonly number[]>;
  /** How many processes only the marker led us to, and were killed by it. */
  readonly swept: number;
}
