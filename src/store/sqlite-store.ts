import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import type { z } from 'zod';
import type { Hold, IssueRecord } from '../domain/claim.js';
import type { Durable, DurableChange, DurableClaim } from '../domain/durable.js';
import { BatonError } from '../domain/errors.js';
import { FINISHED_KEPT, type FinishedIssue, finishedKey } from '../domain/finished.js';
import type { Store } from '../domain/ports.js';
import type { RunRecord } from '../domain/run-record.js';
import { EventHistory } from './event-history.js';
import { inTransaction } from './in-transaction.js';
import { type JsonTable, jsonTable, type Unreadable } from './json-table.js';
import { pruneRecords } from './prune-records.js';
import { type SpendingTable, spendingTable } from './spending-table.js';
import { openSqliteFile, type StoreWarning } from './sqlite-file.js';
import { storeFailure } from './store-failure.js';
import { storedPast } from './stored-past.js';
import {
  claimShapeOf,
  daemonShape,
  finishedShape,
  holdShape,
  holdSourceShape,
  openRunShape,
  ownerShape,
  recordShape,
  runRecordShape,
} from './stored-shapes.js';

export interface SqliteStoreOptions {
  /** The state directory; it must exist. */
  readonly dir: string;
  /** Something was set aside and is forgotten: people must be told. */
  onWarning(warning: StoreWarning): void;
  /** Keeps secrets out of what is written; a JSON text stays one. */
  clean?(json: string): string;
}

type DaemonRow = Pick<Durable, 'pausedSinceMs'>;

interface Tables {
  readonly claims: JsonTable<DurableClaim>;
  readonly records: JsonTable<IssueRecord>;
  readonly holds: JsonTable<Hold>;
  readonly meta: JsonTable<DaemonRow>;
  readonly runs: JsonTable<RunRecord>;
  readonly finished: JsonTable<FinishedIssue>;
  readonly spending: SpendingTable;
}

/** The row of `meta` with what there is once per daemon. */
const DAEMON = 'daemon';
const NOTHING_YET: DaemonRow = { pausedSinceMs: null };

/**
 * The state in `baton.db`. Everything is done when the call returns, on this thread: a write is one transaction and one
 * flush of the disk. Throws `BatonError` with `store_failed`, here and from every method.
 */
export function openSqliteStore({ dir, onWarning, clean = (json) => json }: SqliteStoreOptions): Store {
  const path = join(dir, 'baton.db');
  const db = openSqliteFile(path, onWarning);
  const { ino } = statSync(path);
  const tables = tablesOf(db, clean);
  const history = new EventHistory(db, clean);
  const owners = jsonTable(db, 'owners', 'workspace_key', () => ownerShape);
  const openRuns = jsonTable(db, 'open_runs', 'marker', () => openRunShape);

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
  const tell = ({ table, key, why }: Unreadable) =>
    onWarning({
      message: `A row of the stored state cannot be read and is forgotten: ${table} ${key} (${why}). It is kept in the table unreadable of ${path}.`,
      path,
    });

  return {
    async load() {
      return guarded('read', () => readAll(tables, tell));
    },
    async write(change) {
      guarded('written', () => {
        let events = { settled: () => {} };
        inTransaction(db, () => {
          apply(tables, change);
          events = history.write();
        });
        events.settled();
      });
    },
    owners: {
      async all() {
        return guarded('read', () => owners.read(tell).map(([, owner]) => owner));
      },
      async put(owner) {
        guarded('written', () => owners.put(owner.key, owner));
      },
      async remove(key) {
        guarded('written', () => owners.remove(key));
      },
    },
    openRuns: {
      async all() {
        return guarded('read', () => openRuns.read(tell).map(([, run]) => run));
      },
      async put(run) {
        guarded('written', () => openRuns.put(run.marker, run));
      },
      async remove(marker) {
        guarded('written', () => openRuns.remove(marker));
      },
    },
    past: storedPast(db, (act) => guarded('read', act)),
    addEvent: (event) => history.add(event),
    async prune(keep) {
      guarded('written', () => inTransaction(db, () => pruneRecords(db, keep)));
    },
    async close() {
      history.close();
      if (db.isOpen) closeFile(db, path);
    },
  };
}

/** SQLite goes on writing into a file that has lost its name, and nobody would find it again. */
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
    claims: jsonTable(db, 'claims', 'issue_id', claimShapeOf, clean),
    records: jsonTable(db, 'records', 'issue_id', () => recordShape),
    holds: jsonTable(db, 'holds', 'source', shapeOfHold, clean),
    meta: jsonTable(db, 'meta', 'name', () => daemonShape),
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
  tell: (row: Unreadable) => void,
): Durable {
  const daemon = new Map(meta.read(tell)).get(DAEMON) ?? NOTHING_YET;
  return {
    claims: Object.fromEntries(claims.read(tell)),
    records: Object.fromEntries(records.read(tell)),
    holds: Object.fromEntries(holds.read(tell)),
    pausedSinceMs: daemon.pausedSinceMs,
    ledger: spending.newestDays(),
    finished: finished
      .read(tell)
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

/** Statements keep the connection half open until they are collected, so the log is written back here and now. */
function closeFile(db: DatabaseSyncInstance, path: string): void {
  try {
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch (error) {
    throw storeFailure(error, path, 'closed');
  } finally {
    db.close();
  }
}
