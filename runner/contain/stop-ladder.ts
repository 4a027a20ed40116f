import { setTimeout as pause } from 'node:timers/promises';
import { type Clock, TimeLimit } from '../../src/domain/clock.js';
import type { StopLadder, StopResult } from './process.js';

const DEFAULT_LADDER: StopLadder = { eofMs: 2_000, termMs: 3_000, killMs: 30_000 };
const CHECK_INTERVAL_MS = 50;
const UNKILLABLE_CHECK_INTERVAL_MS = 500;
/** Reading /proc blocks on a process that hangs in the kernel. */
const CHECK_LIMIT_MS = 5_000;

interface Stoppable {
  readonly pid: number;
  readonly tree: ProcessTree;
  readonly exited: Promise<unknown>;
  hasExited(): boolean;
  closeStdin(): void;
}

/**
 * Ends a process tree step by step: close stdin → TERM → KILL → check again, each only when the one before was not enough. There is one
 * climb per tree; a second request joins it and can only make its KILL come earlier.
 */
export class StopLadderClimb {
  #result: Promise<StopResult> | null = null;
  /** The time that the tree has to end by itself. Ends early when a second request is more urgent. */
  #grace: TimeLimit | null = null;
  #isHurried = false;

  constructor(
    readonly target: Stoppable,
    readonly clock: Clock,
  ) {}

  stop(wanted: Partial<StopLadder> = {}): Promise<StopResult> {
    const ladder = { ...DEFAULT_LADDER, ...wanted };
    if (this.#result === null) this.#result = this.#climb(ladder);
    else void this.#hurryAfter(ladder.eofMs + ladder.termMs, this.#result); // Ends with the climb at the latest.
    return this.#result;
  }

  async #climb(ladder: StopLadder): Promise<StopResult> {
    const { tree, exited } = this.target;
    this.target.closeStdin();
    await this.#withGrace(ladder.eofMs, (grace) => grace.race(exited));

    // Processes that are left after the command do not read its stdin, so the rest of the grace period is skipped.
    let left = await this.#check();
    if (left.length > 0) {
      await this.#bounded(tree.signal('SIGTERM'));
      left = await this.#withGrace(ladder.termMs, (grace) => this.#untilGone(grace));
    }
    if (left.length > 0) {
      left = await this.#within(ladder.killMs, (limit) => this.#untilGone(limit, 'SIGKILL'));
    }
    if (left.length === 0) return { gone: true, swept: tree.swept };
    return { gone: false, survivors: left, whenGone: this.#whenGone() };
  }

  /** Checks until nothing is left or the time is over, and sends the signal before each check. Returns the pids that are left. */
  async #untilGone(limit: TimeLimit, signal?: 'SIGKILL'): Promise<readonly number[]> {
    for (;;) {
      if (signal !== undefined) await this.#bounded(this.target.tree.signal(signal));
      await limit.race(this.target.hasExited() ? pause(CHECK_INTERVAL_MS) : this.target.exited);
      const left = await this.#check();
      if (left.length === 0 || limit.isOver) return left;
    }
  }

  async #whenGone(): Promise<void> {
    while ((await this.#check()).length > 0) {
      await this.#bounded(this.target.tree.signal('SIGKILL'));
      await pause(UNKILLABLE_CHECK_INTERVAL_MS, undefined, { ref: false });
    }
  }

  async #check(): Promise<readonly number[]> {
    return (await this.#bounded(this.target.tree.survivors())) ?? [this.target.pid];
  }

  /** A check that fails or does not return proves nothing: the tree counts as alive, and the ladder goes on. */
  #bounded<T>(work: Promise<T>): Promise<T | undefined> {
    return this.#within(CHECK_LIMIT_MS, (limit) => limit.race(work.catch(() => undefined)));
  }

  async #hurryAfter(ms: number, climb: Promise<StopResult>): Promise<void> {
    await this.#within(ms, (limit) => limit.race(climb));
    this.#isHurried = true;
    this.#grace?.end();
  }

  #withGrace<T>(ms: number, work: (grace: TimeLimit) => Promise<T>): Promise<T> {
    return this.#within(this.#isHurried ? 0 : ms, (grace) => {
      this.#grace = grace;
      return work(grace);
    });
  }

  async #within<T>(ms: number, work: (limit: TimeLimit) => Promise<T>): Promise<T> {
    const limit = new TimeLimit(this.clock, ms);
    try {
      return await work(limit);
    } finally {
      limit.end();
    }
  }
}

/**
 * All processes of one command: in a PID namespace (`namespace-tree.ts`), or in a process group and found by a marker (`group-tree.ts`).
 * The stop ladder uses nothing else of them.
 */
export interface ProcessTree {
  /** Signals every reachable process of the tree. Processes that are gone are ignored. */
  signal(name: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** The pids that are still alive; empty only when no process of the tree was found. */
  survivors(): Promise<readonly number[]>;
  /** The number of processes that were found by the marker only, and killed. */
  readonly swept: number;
}
