import type { State } from '../../orchestrator/state.js';

const LIMIT_MS = 5_000;

interface Waiter {
  readonly seq: number;
  settle(isPersisted: boolean): void;
}

/** Lets a request wait until the changes that it caused are stored, so that an accepted request survives a crash. */
export class PersistenceWaiters {
  readonly #waiters = new Set<Waiter>();

  /** Called after every decision. */
  decided({ persist }: State): void {
    for (const waiter of this.#waiters) if (persist.settledSeq >= waiter.seq) waiter.settle(!persist.broken);
  }

  /** Waits for the changes so far. Returns false when they cannot be stored, or not in time. */
  waitUntilPersisted({ persist }: State): Promise<boolean> {
    if (persist.settledSeq >= persist.orderedSeq) return Promise.resolve(!persist.broken);
    return new Promise((resolve) => {
      const settle = (isPersisted: boolean) => {
        clearTimeout(timeout);
        this.#waiters.delete(waiter);
        resolve(isPersisted);
      };
      const waiter: Waiter = { seq: persist.orderedSeq, settle };
      const timeout = setTimeout(() => settle(false), LIMIT_MS).unref();
      this.#waiters.add(waiter);
    });
  }
}
