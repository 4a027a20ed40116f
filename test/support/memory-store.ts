import {
  type Durable,
  type DurableChange,
  type DurableClaim,
  FINISHED_KEPT,
  type FinishedIssue,
  finishedKey,
  LEDGER_DAYS,
  type Ledger,
  type RunRecord,
} from '../../src/domain/durable.js';
import { BatonError } from '../../src/domain/errors.js';
import type { HistoryEvent } from '../../src/domain/note.js';
import type { DayRecord, OpenRun, Store, StoredPast } from '../../src/domain/ports.js';
import type { AllowedContent } from '../../src/domain/workflow.js';
import { mergeDays } from '../../src/store/stored-past.js';

const EMPTY: Durable = { claims: {}, records: {}, holds: {}, pausedSinceMs: null, ledger: {}, finished: [] };

/**
 * A store that forgets with the process. It keeps and hands out copies, as a disk would. Writes are applied in the order
 * of their calls, each before `write` returns.
 */
export function createMemoryStore(initial: Durable = EMPTY): Store {
  let stored = copy(initial);
  const openRuns = new Map<string, OpenRun>();
  const allowed = new Map<string, AllowedContent>();
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
    async write(...changes) {
      checkOpen();
      stored = copy(changes.reduce(apply, stored));
      for (const { runs, finished } of changes) past.add(copy(runs), copy(finished));
    },
    useTracker: async () => 0,
    formerOwners: { all: async () => [], clear: async () => {} },
    openRuns: {
      async all() {
        checkOpen();
        return [...openRuns.values()].map(copy);
      },
      async put(...runs) {
        checkOpen();
        for (const run of runs) openRuns.set(run.marker, copy(run));
      },
      async remove(marker) {
        checkOpen();
        openRuns.delete(marker);
      },
    },
    allowed: {
      async get(path) {
        checkOpen();
        return allowed.get(path) ?? null;
      },
      async put(content) {
        checkOpen();
        allowed.set(content.path, copy(content));
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

/** The entries of a change replace the existing ones; the newest total of a day wins. */
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

/** Goes through JSON, so only serialisable data comes back. */
function copy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

type DaySpending = Pick<DayRecord, 'day' | 'input' | 'cached' | 'output' | 'tokens'>;

/** The past of a store that forgets with the process. `spending`: by day, as its state has it. */
class MemoryPast implements StoredPast {
  constructor(private readonly spending: () => readonly DaySpending[]) {}

  readonly #runs = new Map<string, RunRecord>();
  readonly #finished = new Map<string, FinishedIssue>();
  readonly #events: HistoryEvent[] = [];

  add(runs: readonly RunRecord[], finished: readonly FinishedIssue[]): void {
    for (const run of runs) this.#runs.set(run.runId, run);
    for (const one of finished) this.#finished.set(finishedKey(one), one);
  }

  addEvent(event: HistoryEvent): void {
    this.#events.push(event);
  }

  async runs({ issue, sinceMs = Number.NEGATIVE_INFINITY, limit }: Parameters<StoredPast['runs']>[0]) {
    return [...this.#runs.values()]
      .filter((run) => run.startedAtMs >= sinceMs && isAbout(run, issue))
      .sort((a, b) => b.startedAtMs - a.startedAtMs || (a.runId < b.runId ? 1 : -1))
      .slice(0, limit);
  }

  async finished({ sinceMs, limit }: Parameters<StoredPast['finished']>[0]) {
    return [...this.#finished.values()]
      .filter(({ atMs }) => atMs >= sinceMs)
      .sort((a, b) => b.atMs - a.atMs)
      .slice(0, limit);
  }

  async days(sinceDay: string): ReturnType<StoredPast['days']> {
    const ended = [...this.#runs.values()].flatMap(({ end }) => (end ? [end] : []));
    const parts = [...new Set(ended.map(({ atMs }) => dayOf(atMs)))].map((day) => {
      const runs = ended.filter(({ atMs }) => dayOf(atMs) === day);
      const failed = runs.filter(({ outcome }) => outcome === 'failed' || outcome === 'timeout').length;
      return { day, runs: runs.length, failed };
    });
    const done = new Map<string, number>();
    for (const { atMs, isTerminal } of this.#finished.values())
      if (isTerminal) done.set(dayOf(atMs), (done.get(dayOf(atMs)) ?? 0) + 1);
    const all = [...this.spending(), ...parts, ...[...done].map(([day, count]) => ({ day, done: count }))];
    return mergeDays(all.filter(({ day }) => day >= sinceDay));
  }

  async events({ issue, limit }: Parameters<StoredPast['events']>[0]) {
    return this.#events
      .filter((event) => isAbout(event, issue))
      .slice(-limit)
      .reverse();
  }
}

/** Local, as the calendar on the wall. */
function dayOf(atMs: number): string {
  const date = new Date(atMs);
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

function isAbout(
  one: { readonly issueId: string | null; readonly identifier: string | null },
  issue?: string,
): boolean {
  return issue === undefined || one.identifier === issue || one.issueId === issue;
}

/** The part of the past that a daemon loads; the rest stays in the store. */
export function newestDays(ledger: Ledger): Ledger {
  const days = Object.entries(ledger).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(days.slice(-LEDGER_DAYS));
}
