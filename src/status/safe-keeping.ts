import type { State } from '../../orchestrator/state.js';

const LIMIT_MS = 5_000;

interface Waiting {
  readonly seq: number;
  settle(isSafe: boolean): void;
}

/** Who is told "accepted" wants it to outlive a kill in the next moment: waits until what was ordered so far is stored. */
export class SafeKeeping {
  readonly #waiting = new Set<Waiting>();

  /** After every decision. */
  decided({ persist }: State): void {
    for (const waiting of this.#waiting) if (persist.settledSeq >= waiting.seq) waiting.settle(!persist.broken);
  }

  /** `false`: it could not be stored, or not in time. */
  stored({ persist }: State): Promise<boolean> {
    if (persist.settledSeq >= persist.orderedSeq) return Promise.resolve(!persist.broken);
    return new Promise((resolve) => {
      const settle = (isSafe: boolean) => {
        clearTimeout(late);
        this.#waiting.delete(waiting);
        resolve(isSafe);
      };
      const waiting: Waiting = { seq: persist.orderedSeq, settle };
      const late = setTimeout(() => settle(false), LIMIT_MS).unref();
      this.#waiting.add(waiting);
    });
  }
}
