import { createHash } from 'node:crypto';
import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { BatonError } from '../domain/errors.js';
import type { Issue } from '../domain/issue.js';
import type { IssueLocks } from '../domain/ports.js';
import { toKey } from './json-table.js';
import { inTransaction, isDamage, setAside, storeFailure } from './sqlite-file.js';

export interface IssueLocksOptions {
  /** The folder of the instance locks; it exists. */
  readonly dir: string;
  /** `Tracker.scope`: the same issues. */
  readonly scope: string;
  readonly workflow: string;
}

/** The daemon stands still meanwhile. */
const BUSY_TIMEOUT_MS = 100;

interface Row {
  readonly pid: number;
  readonly start_time: string;
  readonly workflow: string;
}

/**
 * Daemons with different labels may see the same issue: whoever runs it writes that down in a file that all daemons on one tracker
 * share, and the others wait. A row counts for as long as the process that wrote it lives, so a dead holder never blocks.
 */
export function openIssueLocks({ dir, scope, workflow }: IssueLocksOptions): IssueLocks {
  const name = createHash('sha256').update(scope).digest('hex').slice(0, 32);
  const path = join(dir, `${name}.issues`);
  const db = openFile(path);
  const own = { pid: process.pid, start_time: startTimeOf(process.pid) ?? '' };
  return {
    async take(issue) {
      const key = toKey(issue.id);
      asking(issue, path, () =>
        inTransaction(db, () => {
          const row = db.prepare('SELECT * FROM taken WHERE issue_id = ?').get(key) as Row | undefined;
          if (row && !isSame(row, own) && isAlive(row)) throw taken(issue, row);
          db.prepare('INSERT OR REPLACE INTO taken VALUES (?, ?, ?, ?)').run(key, own.pid, own.start_time, workflow);
        }),
      );
      return async () => {
        // At the end of the daemon it is closed already, and a row of a dead process means nothing.
        if (db.isOpen) db.prepare('DELETE FROM taken WHERE issue_id = ? AND pid = ?').run(key, own.pid);
      };
    },
    async close() {
      if (db.isOpen) db.close();
    },
  };
}

/** Who cannot ask does not know: the issue waits as if it were taken. */
function asking({ identifier }: Pick<Issue, 'identifier'>, path: string, act: () => void): void {
  try {
    act();
  } catch (error) {
    if (error instanceof BatonError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    const text = `whether another Baton works on ${identifier} cannot be told: ${path} cannot be written (${why}). Make it writable for this user`;
    throw new BatonError('issue_taken', text, {}, { cause: error });
  }
}

function openFile(path: string): DatabaseSyncInstance {
  try {
    return prepareFile(path);
  } catch (error) {
    // It says who is at work right now and nothing else: a new one is as good.
    if (!isDamage(error)) throw storeFailure(error, path, 'opened');
    setAside(path);
    return prepareFile(path);
  }
}

function prepareFile(path: string): DatabaseSyncInstance {
  const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    chmodSync(path, 0o600);
    // It need not survive the machine, and no process of before does.
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

/** Where there is no /proc, a later process with the same number passes for the holder until it ends. */
function isAlive({ pid, start_time }: Row): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  const now = startTimeOf(pid);
  return now === null || start_time === '' || now === start_time;
}

/** When a process started, in clock ticks since boot; `null` where that cannot be told. A zombie has ended: it started never. */
function startTimeOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name, in parentheses, may itself hold blanks and parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return 'ZX'.includes(fields[0] ?? '') ? 'never' : (fields[19] ?? null);
  } catch {
    return null;
  }
}
