import type { Durable, DurableChange, DurableClaim, Ledger } from '../../src/domain/durable.js';
import { BatonError } from '../../src/domain/errors.js';
import { FINISHED_KEPT, type FinishedIssue, finishedKey } from '../../src/domain/finished.js';
import type { OpenRun, Store, WorkspaceOwner } from '../../src/domain/ports.js';
import { MemoryPast } from '../../src/store/memory-past.js';
import { newestDays } from '../../src/store/newest-days.js';

const EMPTY: Durable = { claims: {}, records: {}, holds: {}, pausedSinceMs: null, ledger: {}, finished: [] };

/**
 * A store that forgets with the process. It keeps and hands out copies, as a disk would. Writes are applied in the order
 * of their calls, each before `write` returns.
 */
export function createMemoryStore(initial: Durable = EMPTY): Store {
  let stored = copy(initial);
  const owners = new Map<string, WorkspaceOwner>();
  const openRuns = new Map<string, OpenRun>();
  const past = new MemoryPast(() =>
    Object.entries(stored.ledger).map(([day, { tokens, issues }]) => {
      const spent = Object.values(issues);
      const sum = (part: 'input' | 'cached' | 'output') => spent.reduce((total, one) => total + one[part], 0);
      return { day, tokens, input: sum('input'), cached: sum('cached'), output: sum('output') };
    }),
  );
  let isClosed = false;

  const checkOpen = (): void => {
    if (isClosed)
      throw new BatonError('store_failed', 'The store is closed. Nothing may be stored after the shutdown.');
  };

  return {
    async load() {
      checkOpen();
      return copy(stored);
    },
    async write(change) {
      checkOpen();
      stored = copy(apply(stored, change));
      past.add(copy(change.runs), copy(change.finished));
    },
    owners: {
      async all() {
        checkOpen();
        return [...owners.values()].map((owner) => ({ ...owner }));
      },
      async put(owner) {
        checkOpen();
        owners.set(owner.key, { ...owner });
      },
      async remove(key) {
        checkOpen();
        owners.delete(key);
      },
    },
    openRuns: {
      async all() {
        checkOpen();
        return [...openRuns.values()].map(copy);
      },
      async put(run) {
        checkOpen();
        openRuns.set(run.marker, copy(run));
      },
      async remove(marker) {
        checkOpen();
        openRuns.delete(marker);
      },
    },
    past,
    addEvent: (event) => past.addEvent(event),
    // Nothing grows old here.
    async prune() {},
    async close() {
      isClosed = true;
    },
  };
}

/** Maps, not assignments: an issue may be called `__proto__`. */
function apply(stored: Durable, change: DurableChange): Durable {
  const claims = new Map<string, DurableClaim>(change.full ? [] : Object.entries(stored.claims));
  for (const [issueId, claim] of Object.entries(change.claims)) {
    if (claim === null) claims.delete(issueId);
    else claims.set(issueId, claim);
  }
  const records = [...(change.full ? [] : Object.entries(stored.records)), ...Object.entries(change.records)];
  return {
    claims: Object.fromEntries(claims),
    records: Object.fromEntries(records),
    holds: change.holds,
    pausedSinceMs: change.pausedSinceMs,
    ledger: newestDays(mergeLedgers(stored.ledger, change.ledger)),
    finished: [...stored.finished.filter((one) => !isAmong(one, change.finished)), ...change.finished].slice(
      -FINISHED_KEPT,
    ),
  };
}

function isAmong(one: FinishedIssue, others: readonly FinishedIssue[]): boolean {
  return others.some((other) => finishedKey(other) === finishedKey(one));
}

/** The entries of a change go over those that are there; the total of a day is its newest. */
function mergeLedgers(stored: Ledger, change: Ledger): Ledger {
  const days = Object.entries(change).map(([day, { tokens, issues }]) => {
    const known = stored[day]?.issues ?? {};
    return [
      day,
      { tokens, issues: Object.fromEntries([...Object.entries(known), ...Object.entries(issues)]) },
    ] as const;
  });
  return { ...stored, ...Object.fromEntries(days) };
}

/** Through JSON, so that only what a disk could keep comes back. */
function copy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
