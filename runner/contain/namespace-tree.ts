import { BatonError } from '../../src/domain/errors.js';
import { isStillAlive, type ProcessIdentity, processFacts, readIfThere, signalExactly } from './proc-table.js';
import type { ProcessTree } from './process-tree.js';

/**
 * A tree inside a PID namespace, held by its first process: the kernel lets that one end only after every other process
 * of the namespace is dead and reaped. So "the first process is gone" proves that nothing is left.
 */
export class NamespaceTree implements ProcessTree {
  /** Nothing leaves a namespace, so there are no strays to look for. */
  readonly swept = 0;
  #wasKilled = false;

  constructor(
    readonly first: ProcessIdentity,
    /** `unshare`, our child: the namespace ends with it. */
    readonly outer: { readonly pid: number; hasExited(): boolean },
  ) {}

  async signal(name: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    // Only the first process: it passes TERM on to all, and KILL on it empties the namespace.
    const wasThere = name === 'SIGTERM' ? signalExactly(this.first, name) : this.#kill();
    if (wasThere && name === 'SIGKILL') this.#wasKilled = true;
  }

  #kill(): boolean {
    try {
      return signalExactly(this.first, 'SIGKILL');
    } catch (error) {
      // Without a free descriptor /proc cannot be read. Our own child we know without it, until it is reaped.
      if (this.outer.hasExited()) throw error;
      return process.kill(this.outer.pid, 'SIGKILL');
    }
  }

  /** Whether the namespace was ended by us, with whatever was running in it. */
  get wasKilled(): boolean {
    return this.#wasKilled;
  }

  async survivors(): Promise<readonly number[]> {
    return isStillAlive(this.first) ? [this.first.pid] : [];
  }
}

/** The namespace's PID 1 as the host numbers it: the only child of `unshare`. Throws `spawn_failed`. */
export async function firstOfNamespace(outerPid: number): Promise<ProcessIdentity> {
  const children = await readIfThere(`/proc/${outerPid}/task/${outerPid}/children`);
  const pids = children?.toString('latin1').trim().split(' ') ?? [];
  const facts = pids.length === 1 ? processFacts(Number(pids[0])) : null;
  if (facts !== null) return { pid: facts.pid, startTime: facts.startTime };
  throw new BatonError(
    'spawn_failed',
    `The first process of the namespace under pid ${outerPid} cannot be found in /proc`,
  );
}
