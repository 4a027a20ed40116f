import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import type { HistoryEvent } from '../domain/history.js';
import { inTransaction } from './in-transaction.js';

const KEPT = 10_000;
/** While nothing can be written. */
const MAX_WAITING = 1_000;
const FLUSH_AFTER_MS = 1_000;

/**
 * The last events, for people. An event waits for the write that belongs to it, which mostly comes in the same breath, and goes to disk
 * with it; one that comes alone has a write of its own a second later. What cannot be written waits for the next write.
 */
export class EventHistory {
  readonly #db: DatabaseSyncInstance;
  readonly #clean: (json: string) => string;
  readonly #waiting: HistoryEvent[] = [];
  #scheduled: NodeJS.Timeout | null = null;

  constructor(db: DatabaseSyncInstance, clean: (json: string) => string) {
    this.#db = db;
    this.#clean = clean;
  }

  add(event: HistoryEvent): void {
    this.#waiting.push(event);
    if (this.#waiting.length > MAX_WAITING) this.#waiting.shift();
    this.#scheduled ??= setTimeout(() => this.flush(), FLUSH_AFTER_MS).unref();
  }

  /** Inside the caller's transaction. `settled` once that has been committed. */
  write(): { settled(): void } {
    const count = this.#waiting.length;
    if (count > 0) {
      // Prepared here: a statement that is kept holds the connection open beyond its close.
      const insert = this.#db.prepare(
        'INSERT INTO events (at_ms, level, message, issue_id, identifier, run_id, fields) VALUES (?, ?, ?, ?, ?, ?, ?)',
      );
      for (const event of this.#waiting) {
        const { atMs, level, message, issueId, identifier, runId, fields } = event;
        insert.run(atMs, level, message, issueId, identifier, runId, this.#clean(JSON.stringify(fields)));
      }
      this.#db.exec(`DELETE FROM events WHERE id <= (SELECT max(id) FROM events) - ${KEPT}`);
    }
    return { settled: () => void this.#waiting.splice(0, count) };
  }

  /** Never throws: the next write takes along what this one could not. */
  flush(): void {
    this.#scheduled = null;
    if (this.#waiting.length === 0 || !this.#db.isOpen) return;
    try {
      let written = { settled: () => {} };
      inTransaction(this.#db, () => {
        written = this.write();
      });
      written.settled();
    } catch {
      // The state is told to be unwritable by its own writes.
    }
  }

  close(): void {
    if (this.#scheduled) clearTimeout(this.#scheduled);
    this.flush();
  }
}
