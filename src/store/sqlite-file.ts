import { chmodSync, existsSync } from 'node:fs';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { BatonError } from '../domain/errors.js';
import { inTransaction } from './in-transaction.js';
import { MIGRATIONS } from './migrations.js';
import { setAside } from './set-aside.js';
import { isDamage, storeFailure } from './store-failure.js';

/** The daemon stands still while SQLite waits for another writer. */
const BUSY_TIMEOUT_MS = 250;

export interface StoreWarning {
  readonly message: string;
  /** The file that a person may want to look at. */
  readonly path: string;
}

/**
 * Opens the file, makes it if it is not there, and brings it to the newest version. A damaged one is set aside and a new
 * one begun; `onWarning` tells it.
 */
export function openSqliteFile(path: string, onWarning: (warning: StoreWarning) => void): DatabaseSyncInstance {
  try {
    const damage = damageOf(path);
    if (damage !== null) startOver(path, damage, onWarning);
    return connect(path);
  } catch (error) {
    throw storeFailure(error, path, 'opened');
  }
}

/** Looks at the file without being able to write: a damaged file and one of a newer Baton stay as they are. */
function damageOf(path: string): string | null {
  if (!existsSync(path)) return existsSync(`${path}-wal`) ? 'the file is gone, and only its log is left' : null;
  let db: DatabaseSyncInstance | null = null;
  try {
    db = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
    refuseNewer(versionOf(db), path);
    const findings = (db.prepare('PRAGMA quick_check(3)').all() as { quick_check: string }[]).map(
      (row) => row.quick_check,
    );
    return findings.join() === 'ok' ? null : findings.join('; ');
  } catch (error) {
    if (error instanceof BatonError) throw error;
    // Whatever else keeps us from looking (rights, an unfinished transaction to roll back) shows when it is opened to write.
    return isDamage(error) ? (error as Error).message : null;
  } finally {
    db?.close();
  }
}

function startOver(path: string, damage: string, onWarning: (warning: StoreWarning) => void): void {
  const target = setAside(path);
  onWarning({
    message:
      `The stored state in ${path} is damaged (${damage}). It is kept as ${target}, and Baton begins with an empty state: ` +
      'run numbers, retries, parked issues, holds and spent tokens are forgotten. Check the disk.',
    path: target,
  });
}

function connect(path: string): DatabaseSyncInstance {
  const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: true });
  try {
    // Before anything is in it; SQLite gives its companions the same mode.
    chmodSync(path, 0o600);
    // FULL: a commit is on the disk when it returns. In WAL mode anything less loses the last ones in a power cut.
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
    migrate(db, path);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function migrate(db: DatabaseSyncInstance, path: string): void {
  const from = versionOf(db);
  refuseNewer(from, path);
  for (const [index, sql] of MIGRATIONS.entries()) {
    if (index >= from) inTransaction(db, () => db.exec(`${sql}; PRAGMA user_version = ${index + 1}`));
  }
}

function versionOf(db: DatabaseSyncInstance): number {
  return (db.prepare('PRAGMA user_version').get() as { user_version: number }).user_version;
}

function refuseNewer(version: number, path: string): void {
  if (version <= MIGRATIONS.length) return;
  throw new BatonError(
    'store_failed',
    `${path} was written by a newer Baton (version ${version} of the file, this one knows ${MIGRATIONS.length}). ` +
      'Install that Baton again, or begin anew with another --state-dir; the file is left as it is',
    { path, version },
  );
}
