import { setTimeout as pause } from 'node:timers/promises';
import { type Clock, TimeLimit } from '../../src/domain/clock.js';
import type { StopLadder, StopResult } from './process.js';

const DEFAULT_LADDER: StopLadder = { eofMs: 2_000, termMs: 3_000, killMs: 30_000 };
const LOOK_EVERY_MS = 50;
const LOOK_AT_UNKILLABLE_EVERY_MS = 500;
/** /proc itself blocks on a process that hangs inside the kernel. */
const LOOK_LIMIT_MS = 5_000;

interface Stoppable {
  readonly pid: number;
  readonly tree: ProcessTree;
  readonly exited: Promise<unknown>;
  hasExited(): boolean;
  closeStdin(): void;
}

/**
 * Ends a tree step by step: close stdin → TERM → KILL → look again, each only when the one before did not do. There is one
 * climb per tree; a second request joins it and can only bring its KILL forward.
 */
export class StopLadderClimb {
  #result: Promise<StopResult> | null = null;
  /** Time that the tree is given to end by itself; over at once when someone hurries. */
  #grace: TimeLimit | null = null;
  #isHurried = false;

  constructor(
    readonly target: Stoppable,
    readonly clock: Clock,
  ) {}

  stop(wanted: Partial<StopLadder> = {}): Promise<StopResult> {
    const ladder = { ...DEFAULT_LADDER, ...wanted };
    if (this.#result === null) this.#result = this.#climb(ladder);
    else void this.#hurryAfter(ladder.eofMs + ladder.termMs, this.#result); // Over with the climb at the latest.
    return this.#result;
  }

  async #climb(ladder: StopLadder): Promise<StopResult> {
    const { tree, exited } = this.target;
    this.target.closeStdin();
    await this.#withGrace(ladder.eofMs, (grace) => grace.race(exited));

    // What outlives the command does not read its stdin: no reason to give it the rest of that time.
    let left = await this.#look();
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

  /** Looks until nothing is left or the time is up, sending the signal before each look. Returns what is left. */
  async #untilGone(limit: TimeLimit, signal?: 'SIGKILL'): Promise<readonly number[]> {
    for (;;) {
      if (signal !== undefined) await this.#bounded(this.target.tree.signal(signal));
      await limit.race(this.target.hasExited() ? pause(LOOK_EVERY_MS) : this.target.exited);
      const left = await this.#look();
      if (left.length === 0 || limit.isOver) return left;
    }
  }

  async #whenGone(): Promise<void> {
    while ((await this.#look()).length > 0) {
      await this.#bounded(this.target.tree.signal('SIGKILL'));
      await pause(LOOK_AT_UNKILLABLE_EVERY_MS, undefined, { ref: false });
    }
  }

  async #look(): Promise<readonly number[]> {
    return (await this.#bounded(this.target.tree.survivors())) ?? [this.target.pid];
  }

  /** A look that fails or does not come back proves nothing: the tree counts as alive, and the ladder goes on. */
  #bounded<T>(work: Promise<T>): Promise<T | undefined> {
    return this.#within(LOOK_LIMIT_MS, (limit) => limit.race(work.catch(() => undefined)));
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
