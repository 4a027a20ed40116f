import { createHash } from 'node:crypto';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { BatonError } from '../domain/errors.js';
import type { Issue } from '../domain/issue.js';
import type { IssueLocks } from '../domain/ports.js';
import { isRunning, startTimeOf } from './instance-lock.js';
import { toKey } from './json-table.js';
import { inTransaction, isDamage, setAside, storeFailure } from './sqlite-file.js';

export interface IssueLocksOptions {
  /** The folder of the instance locks. It must exist. */
  readonly dir: string;
  /** `Tracker.scope`: daemons with the same scope may see the same issues. */
  readonly scope: string;
  readonly workflow: string;
}

/** The daemon is blocked meanwhile. */
const BUSY_TIMEOUT_MS = 100;

interface Row {
  readonly pid: number;
  readonly start_time: string;
  readonly workflow: string;
}

/**
 * Daemons with different labels may see the same issue. A daemon that runs an issue enters it in a file that all daemons of one tracker
 * share, and the others wait. An entry is valid while the process that wrote it lives, so that a dead holder never blocks.
 */
export function openIssueLocks({ dir, scope, workflow }: IssueLocksOptions): IssueLocks {
  const name = createHash('sha256').update(scope).digest('hex').slice(0, 32);
  const path = join(dir, `${name}.issues`);
  const db = openFile(path);
  const own = { pid: process.pid, start_time: startTimeOf(process.pid) ?? '' };
  return {
    async take(issue) {
      const key = toKey(issue.id);
      failAsTaken(issue, path, () =>
        inTransaction(db, () => {
          const row = db.prepare('SELECT * FROM taken WHERE issue_id = ?').get(key) as Row | undefined;
          if (row && !isSame(row, own) && isRunning(row.pid, row.start_time || null)) throw taken(issue, row);
          db.prepare('INSERT OR REPLACE INTO taken VALUES (?, ?, ?, ?)').run(key, own.pid, own.start_time, workflow);
        }),
      );
      return async () => {
        // The file may be closed at the end of the daemon; an entry of a dead process is not valid.
        if (db.isOpen) db.prepare('DELETE FROM taken WHERE issue_id = ? AND pid = ?').run(key, own.pid);
      };
    },
    async close() {
      if (db.isOpen) db.close();
    },
  };
}

/** An issue whose lock cannot be checked waits as if it were taken. */
function failAsTaken({ identifier }: Pick<Issue, 'identifier'>, path: string, act: () => void): void {
  try {
    act();
  } catch (error) {
    if (error instanceof BatonError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    const text = `cannot check whether another Baton works on ${identifier}: ${path} cannot be written (${why}). Make it writable for this user`;
    throw new BatonError('issue_taken', text, {}, { cause: error });
  }
}

function openFile(path: string): DatabaseSyncInstance {
  try {
    return prepareFile(path);
  } catch (error) {
    // The file holds only the current runs, so that a new one replaces it.
    if (!isDamage(error)) throw storeFailure(error, path, 'opened');
    setAside(path);
    return prepareFile(path);
  }
}

function prepareFile(path: string): DatabaseSyncInstance {
  const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    chmodSync(path, 0o600);
    // It need not survive a crash of the machine, as no process does.
    db.exec('PRAGMA synchronous = OFF');
    db.exec(
      'CREATE TABLE IF NOT EXISTS taken (issue_id TEXT PRIMARY KEY, pid INTEGER, start_time TEXT, workflow TEXT) WITHOUT ROWID',
    );
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function taken({ identifier }: Pick<Issue, 'identifier'>, { pid, workflow }: Row): BatonError {
  return new BatonError(
    'issue_taken',
    `${identifier} is being worked on by another Baton: pid ${pid}, with ${workflow}. Give the two labels of which no issue has both`,
  );
}

function isSame(row: Row, own: Pick<Row, 'pid' | 'start_time'>): boolean {
  return row.pid === own.pid && row.start_time === own.start_time;
}
