import type { DatabaseSyncInstance } from '@photostructure/sqlite';

/** All of it or nothing. Begins as a writer: to become one half-way could fail when there is another. */
export function inTransaction(db: DatabaseSyncInstance, act: () => void): void {
  db.exec('BEGIN IMMEDIATE');
  try {
    act();
    db.exec('COMMIT');
  } catch (error) {
    // Some errors, a full disk among them, have rolled back already.
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}
