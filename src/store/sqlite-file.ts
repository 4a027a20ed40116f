import { chmodSync, existsSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { BatonError } from '../domain/errors.js';
import { MIGRATIONS } from './migrations.js';

/** The daemon is blocked while SQLite waits for another writer. */
const BUSY_TIMEOUT_MS = 250;

export interface StoreWarning {
  readonly message: string;
  /** The file that a person may want to inspect. */
  readonly path: string;
}

/**
 * Opens the file, creates it if it is missing, and migrates it to the newest version. A damaged file is set aside with a warning and
 * replaced by a new one.
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

/** Checks the file read-only, so that a damaged file and one of a newer Baton stay unchanged. */
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
    // Other problems, such as rights or an unfinished transaction, show when the file is opened for writing.
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
    // Before anything is written; SQLite gives the files beside it the same mode.
    chmodSync(path, 0o600);
    // FULL: a commit is on the disk when it returns. Less would lose the last commits in a power cut.
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

/** Begins as a writer: becoming one later fails when there is another writer. */
export function inTransaction(db: DatabaseSyncInstance, act: () => void): void {
  db.exec('BEGIN IMMEDIATE');
  try {
    act();
    db.exec('COMMIT');
  } catch (error) {
    // Some errors, such as a full disk, have rolled back already.
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/** SQLite keeps data in files beside the database: without its `-wal` it lacks the latest writes. */
const COMPANIONS = ['', '-wal', '-shm', '-journal'];

/** Renames a database and its companions, without overwriting any file, and returns the new path. */
export function setAside(path: string): string {
  const time = new Date().toISOString().replaceAll(/[:.]/g, '-');
  const wanted = `${path}.corrupt-${time}`;
  let target = wanted;
  for (let number = 2; COMPANIONS.some((end) => existsSync(target + end)); number++) target = `${wanted}-${number}`;
  for (const end of COMPANIONS) if (existsSync(path + end)) renameSync(path + end, target + end);
  return target;
}

type Problem = 'busy' | 'refused' | 'full' | 'broken_disk' | 'damaged' | 'other';

/** Primary result codes of SQLite, and its messages for errors without a code. */
const PROBLEMS: readonly (readonly [number, RegExp, Problem])[] = [
  [5, /database is locked/, 'busy'],
  [6, /table is locked/, 'busy'],
  [3, /access permission denied/, 'refused'],
  [8, /readonly database/, 'refused'],
  [14, /unable to open database/, 'refused'],
  [13, /disk is full/, 'full'],
  [10, /disk I\/O error/, 'broken_disk'],
  [11, /disk image is malformed/, 'damaged'],
  [26, /is not a database/, 'damaged'],
];

export function isBusy(error: unknown): boolean {
  return problemOf(error) === 'busy';
}

export function isDamage(error: unknown): boolean {
  return problemOf(error) === 'damaged';
}

/** The error for a failed operation: what happened, to which file, and what to do. */
export function storeFailure(error: unknown, path: string, doing: string): BatonError {
  if (error instanceof BatonError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  const advice = adviceFor(problemOf(error), path, doing === 'opened');
  return new BatonError('store_failed', `${path} cannot be ${doing}: ${reason}. ${advice}`, { path }, { cause: error });
}

function problemOf(error: unknown): Problem {
  const { errcode, message, code } = error as { errcode?: number; message?: string; code?: string };
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'full';
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return 'refused';
  const found = PROBLEMS.find(([code, text]) =>
    errcode === undefined ? text.test(message ?? '') : (errcode & 0xff) === code,
  );
  return found?.[2] ?? 'other';
}

function adviceFor(problem: Problem, path: string, isStart: boolean): string {
  switch (problem) {
    case 'busy':
      return `Another process uses it: find it with "fuser ${path}" and end it`;
    case 'refused':
      return `Make ${dirname(path)} and the files in it writable for this user, or choose another folder with --state-dir`;
    case 'full':
      return `Free space on the disk of ${dirname(path)}; ${isStart ? 'then start Baton again' : 'Baton goes on by itself'}`;
    case 'broken_disk':
      return `Look at the disk of ${dirname(path)} (full, unplugged, failing?)`;
    case 'damaged':
      return 'The file is damaged: restart Baton, and it sets the file aside and begins a new one';
    default:
      return 'Report this with the log';
  }
}
