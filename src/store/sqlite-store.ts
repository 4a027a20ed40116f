import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import type { z } from 'zod';
import type { Hold, IssueRecord } from '../domain/claim.js';
import { DAY_MS } from '../domain/clock.js';
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
  type Spending,
} from '../domain/durable.js';
import { BatonError } from '../domain/errors.js';
import type { HistoryEvent } from '../domain/note.js';
import type { OpenRun, Store } from '../domain/ports.js';
import { fromKey, type JsonTable, jsonTable, toKey, type Unreadable } from './json-table.js';
import { inTransaction, openSqliteFile, type StoreWarning, storeFailure } from './sqlite-file.js';
import { storedPast } from './stored-past.js';
import {
  allowedShape,
  claimShapeOf,
  daemonShape,
  finishedShape,
  holdShape,
  holdSourceShape,
  openRunShape,
  ownerShape,
  recordShape,
  runRecordShape,
  storedClaim,
  trackerShape,
} from './stored-shapes.js';

interface SqliteStoreOptions {
  /** The state directory; it must exist. */
  readonly dir: string;
  /** Something unreadable was set aside and is lost to the daemon. */
  onWarning(warning: StoreWarning): void;
  /** Masks secrets in a JSON text before it is written. */
  clean?(json: string): string;
}

type DaemonRow = Pick<Durable, 'pausedSinceMs'>;

interface TrackerRow {
  readonly scope: string;
}

interface Tables {
  readonly claims: JsonTable<DurableClaim>;
  readonly records: JsonTable<IssueRecord>;
  readonly holds: JsonTable<Hold>;
  readonly meta: JsonTable<DaemonRow | TrackerRow>;
  readonly runs: JsonTable<RunRecord>;
  readonly finished: JsonTable<FinishedIssue>;
  readonly spending: SpendingTable;
}

/** The rows of `meta`: the daemon itself, and the tracker whose issues are stored. */
const DAEMON = 'daemon';
const TRACKER = 'tracker';
const NOTHING_YET: DaemonRow = { pausedSinceMs: null };

/**
 * The state in `baton.db`. Every call is synchronous: a write is one transaction and one flush of the disk. Throws `BatonError` with
 * `store_failed`, here and from every method.
 */
export function openSqliteStore({ dir, onWarning, clean = (json) => json }: SqliteStoreOptions): Store {
  const path = join(dir, 'baton.db');
  const db = openSqliteFile(path, onWarning);
  const { ino } = statSync(path);
  const tables = tablesOf(db, clean);
  const owners = jsonTable(db, 'owners', 'workspace_key', () => ownerShape);
  const openRuns = jsonTable(db, 'open_runs', 'marker', () => openRunShape);
  const queue = new WriteQueue(db, openRuns, clean);
  const allowed = jsonTable(db, 'allowed', 'path', () => allowedShape, clean);

  const guarded = <T>(doing: string, act: () => T): T => {
    if (!db.isOpen)
      throw new BatonError('store_failed', 'The store is closed. Nothing may be stored after the shutdown.');
    try {
      refuseMoved(path, ino);
      return act();
    } catch (error) {
      throw storeFailure(error, path, doing);
    }
  };
  const warnUnreadable = ({ table, key, why }: Unreadable) =>
    onWarning({
      message: `A row of the stored state cannot be read and is forgotten: ${table} ${key} (${why}). It is kept in the table unreadable of ${path}.`,
      path,
    });

  return {
    async load() {
      return guarded('read', () => readAll(tables, warnUnreadable));
    },
    async write(...changes) {
      guarded('written', () =>
        queue.commitWith(() => {
          for (const change of changes) apply(tables, change);
        }),
      );
    },
    formerOwners: {
      async all() {
        return guarded('read', () => owners.read(warnUnreadable).map(([, owner]) => owner));
      },
      async clear() {
        guarded('written', () => db.exec('DELETE FROM owners'));
      },
    },
    openRuns: {
      async all() {
        queue.flush();
        return guarded('read', () => openRuns.read(warnUnreadable).map(([, run]) => run));
      },
      async put(...runs) {
        const putAll = () => runs.forEach((run) => void openRuns.put(run.marker, run));
        guarded('written', () => (runs.length === 1 ? putAll() : inTransaction(db, putAll)));
      },
      async remove(marker) {
        guarded('written', () => queue.removeRun(marker));
      },
    },
    async useTracker(scope) {
      return guarded('written', () => {
        const { claims, records, holds, meta } = tables;
        const before = { scope, ...new Map(meta.read(warnUnreadable)).get(TRACKER) };
        const released = before.scope === scope ? 0 : claims.read(warnUnreadable).length;
        inTransaction(db, () => {
          if (before.scope !== scope) {
            claims.clear();
            records.clear();
            holds.remove('tracker');
          }
          meta.put(TRACKER, { scope });
        });
        return released;
      });
    },
    allowed: {
      async get(path) {
        return guarded('read', () => new Map(allowed.read(warnUnreadable)).get(path) ?? null);
      },
      async put(content) {
        guarded('written', () => allowed.put(content.path, content));
      },
    },
    past: storedPast(db, (act) => guarded('read', act)),
    addEvent: (event) => queue.addEvent(event),
    async prune(keep) {
      guarded('written', () => inTransaction(db, () => pruneRecords(db, keep)));
    },
    async close() {
      queue.close();
      if (db.isOpen) closeFile(db, path);
    },
  };
}

/** SQLite would go on writing into a file that was moved or deleted. */
function refuseMoved(path: string, ino: number): void {
  if (statSync(path, { throwIfNoEntry: false })?.ino === ino) return;
  throw new BatonError(
    'store_failed',
    `${path} was moved or deleted while Baton uses it. Put it back, or restart Baton`,
    { path },
  );
}

function tablesOf(db: DatabaseSyncInstance, clean: (json: string) => string): Tables {
  return {
    claims: jsonTable(db, 'claims', 'issue_id', claimShapeOf, clean, storedClaim),
    records: jsonTable(db, 'records', 'issue_id', () => recordShape),
    holds: jsonTable(db, 'holds', 'source', shapeOfHold, clean),
    meta: jsonTable<DaemonRow | TrackerRow>(db, 'meta', 'name', (name) =>
      name === TRACKER ? trackerShape : daemonShape,
    ),
    runs: jsonTable(db, 'runs', 'run_id', () => runRecordShape, clean),
    finished: jsonTable(db, 'finished', 'finished_key', () => finishedShape, clean),
    spending: spendingTable(db),
  };
}

function shapeOfHold(source: string): z.ZodType<Hold> {
  holdSourceShape.parse(source);
  return holdShape;
}

function readAll(
  { claims, records, holds, meta, spending, finished }: Tables,
  onUnreadable: (row: Unreadable) => void,
): Durable {
  const daemon = { ...NOTHING_YET, ...new Map(meta.read(onUnreadable)).get(DAEMON) };
  return {
    claims: Object.fromEntries(claims.read(onUnreadable)),
    records: Object.fromEntries(records.read(onUnreadable)),
    holds: Object.fromEntries(holds.read(onUnreadable)),
    pausedSinceMs: daemon.pausedSinceMs,
    ledger: spending.newestDays(),
    finished: finished
      .read(onUnreadable)
      .map(([, one]) => one)
      .sort((a, b) => a.atMs - b.atMs)
      .slice(-FINISHED_KEPT),
  };
}

function apply(tables: Tables, change: DurableChange): void {
  const { full, claims, records, holds, pausedSinceMs, ledger, runs, finished } = change;
  if (full) {
    tables.claims.clear();
    tables.records.clear();
  }
  for (const [issueId, claim] of Object.entries(claims)) {
    if (claim === null) tables.claims.remove(issueId);
    else tables.claims.put(issueId, claim);
  }
  for (const [issueId, record] of Object.entries(records)) tables.records.put(issueId, record);
  tables.holds.clear();
  for (const [source, hold] of Object.entries(holds)) if (hold) tables.holds.put(source, hold);
  tables.meta.put(DAEMON, { pausedSinceMs });
  tables.spending.put(ledger);
  for (const run of runs) tables.runs.put(run.runId, run);
  for (const one of finished) tables.finished.put(finishedKey(one), one);
}

/** Prepared statements keep the connection half open until they are garbage-collected, so the log is written back here. */
function closeFile(db: DatabaseSyncInstance, path: string): void {
  try {
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch (error) {
    throw storeFailure(error, path, 'closed');
  } finally {
    db.close();
  }
}

interface SpendingTable {
  put(ledger: Ledger): void;
  newestDays(): Ledger;
}

interface Row extends Spending {
  readonly day: string;
  readonly issue_id: string;
}

/** Spent tokens by local day and issue. The sum of a day is computed, so that it cannot disagree. */
function spendingTable(db: DatabaseSyncInstance): SpendingTable {
  const put = db.prepare(
    'INSERT INTO spending (day, issue_id, input, cached, output, tokens) VALUES (?, ?, ?, ?, ?, ?) ' +
      // Spent tokens never decrease, even if a daemon with a wrong clock remembers less of that day.
      'ON CONFLICT DO UPDATE SET input = max(input, excluded.input), cached = max(cached, excluded.cached), ' +
      'output = max(output, excluded.output), tokens = max(tokens, excluded.tokens)',
  );
  const newest = db.prepare(
    `SELECT * FROM spending WHERE day IN (SELECT DISTINCT day FROM spending ORDER BY day DESC LIMIT ${LEDGER_DAYS})`,
  );
  return {
    put(ledger) {
      for (const [day, { issues }] of Object.entries(ledger)) {
        for (const [issueId, { input, cached, output, tokens }] of Object.entries(issues)) {
          put.run(day, toKey(issueId), input, cached, output, tokens);
        }
      }
    },
    newestDays() {
      const days = new Map<string, { tokens: number; issues: [string, Spending][] }>();
      for (const { day, issue_id, input, cached, output, tokens } of newest.all() as unknown as Row[]) {
        const entry = days.get(day) ?? { tokens: 0, issues: [] };
        entry.tokens += tokens;
        entry.issues.push([fromKey(issue_id), { input, cached, output, tokens }]);
        days.set(day, entry);
      }
      const ledger = [...days].map(
        ([day, { tokens, issues }]) => [day, { tokens, issues: Object.fromEntries(issues) }] as const,
      );
      return Object.fromEntries(ledger);
    },
  };
}

const MAX_EVENTS = 10_000;
/** Events that wait while nothing can be written. */
const MAX_WAITING = 1_000;
const FLUSH_AFTER_MS = 1_000;

/**
 * Small changes that no one waits for: the last events, for people, and records of runs that are over. They wait for the next write of the
 * state, which mostly follows at once, and are stored with it. After a second without one they are written alone. What cannot be written
 * waits for the next write.
 */
class WriteQueue {
  readonly #db: DatabaseSyncInstance;
  readonly #openRuns: JsonTable<OpenRun>;
  readonly #clean: (json: string) => string;
  readonly #events: HistoryEvent[] = [];
  readonly #endedRuns = new Set<string>();
  #scheduled: NodeJS.Timeout | null = null;

  constructor(db: DatabaseSyncInstance, openRuns: JsonTable<OpenRun>, clean: (json: string) => string) {
    this.#db = db;
    this.#openRuns = openRuns;
    this.#clean = clean;
  }

  addEvent(event: HistoryEvent): void {
    this.#events.push(event);
    if (this.#events.length > MAX_WAITING) this.#events.shift();
    this.#schedule();
  }

  removeRun(marker: string): void {
    this.#endedRuns.add(marker);
    this.#schedule();
  }

  /** Commits `act` together with everything that waits. */
  commitWith(act: () => void): void {
    const count = this.#events.length;
    inTransaction(this.#db, () => {
      act();
      this.#writeEvents();
      for (const marker of this.#endedRuns) this.#openRuns.remove(marker);
    });
    this.#events.splice(0, count);
    this.#endedRuns.clear();
  }

  /** Never throws: what cannot be written stays for the next write. */
  flush(): void {
    this.#scheduled = null;
    if ((this.#events.length === 0 && this.#endedRuns.size === 0) || !this.#db.isOpen) return;
    try {
      this.commitWith(() => {});
    } catch {
      // A write of the state reports the problem.
    }
  }

  close(): void {
    if (this.#scheduled) clearTimeout(this.#scheduled);
    this.flush();
  }

  #schedule(): void {
    this.#scheduled ??= setTimeout(() => this.flush(), FLUSH_AFTER_MS).unref();
  }

  #writeEvents(): void {
    if (this.#events.length === 0) return;
    // Not kept: a prepared statement holds the connection open beyond its close.
    const insert = this.#db.prepare(
      'INSERT INTO events (at_ms, level, message, issue_id, identifier, run_id, fields) VALUES (?, ?, ?, ?, ?, ?, ?)',
    );
    for (const event of this.#events) {
      const { atMs, level, message, issueId, identifier, runId, fields } = event;
      insert.run(atMs, level, message, issueId, identifier, runId, this.#clean(JSON.stringify(fields)));
    }
    this.#db.exec(`DELETE FROM events WHERE id <= (SELECT max(id) FROM events) - ${MAX_EVENTS}`);
  }
}

/**
 * Deletes records older than `days`, counted from now or from the fiftieth newest run, whichever is earlier. So a clock that is years
 * ahead for an hour does not delete everything.
 */
function pruneRecords(
  db: DatabaseSyncInstance,
  { days, nowMs }: { readonly days: number; readonly nowMs: number },
): void {
  const recent = db
    .prepare('SELECT started_at_ms AS atMs FROM runs ORDER BY started_at_ms DESC LIMIT 1 OFFSET 49')
    .get() as { atMs: number } | undefined;
  if (!recent) return;
  const beforeMs = Math.min(nowMs, recent.atMs) - days * DAY_MS;
  db.prepare('DELETE FROM runs WHERE started_at_ms < ?').run(beforeMs);
  db.prepare('DELETE FROM finished WHERE at_ms < ?').run(beforeMs);
  db.prepare('DELETE FROM spending WHERE day < ?').run(new Date(beforeMs).toISOString().slice(0, 10));
}
