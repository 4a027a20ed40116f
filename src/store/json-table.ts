import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import type { z } from 'zod';
import { inTransaction } from './sqlite-file.js';

export interface Unreadable {
  readonly table: string;
  readonly key: string;
  readonly why: string;
}

export interface JsonTable<T> {
  put(key: string, value: T): void;
  remove(key: string): void;
  clear(): void;
  /** Rows that do not match their shape are moved to the table `unreadable`. */
  read(onUnreadable: (row: Unreadable) => void): [key: string, value: T][];
}

/** A table of JSON texts under a key. `clean` changes each text right before it is written. */
export function jsonTable<T>(
  db: DatabaseSyncInstance,
  table: string,
  keyColumn: string,
  shapeFor: (key: string) => z.ZodType<T>,
  clean: (json: string) => string = (json) => json,
  encode: (value: T) => unknown = (value) => value,
): JsonTable<T> {
  const put = db.prepare(
    `INSERT INTO ${table} (${keyColumn}, json) VALUES (?, ?) ON CONFLICT DO UPDATE SET json = excluded.json`,
  );
  const remove = db.prepare(`DELETE FROM ${table} WHERE ${keyColumn} = ?`);
  const clear = db.prepare(`DELETE FROM ${table}`);
  const all = db.prepare(`SELECT ${keyColumn} AS key, json FROM ${table} ORDER BY ${keyColumn}`);
  const move = db.prepare('INSERT INTO unreadable (from_table, row_key, json, why) VALUES (?, ?, ?, ?)');

  const setAside = ({ key, json }: Row, why: string) =>
    inTransaction(db, () => {
      move.run(table, key, json, why);
      remove.run(key);
    });

  return {
    put: (key, value) => void put.run(toKey(key), clean(JSON.stringify(encode(value)))),
    remove: (key) => void remove.run(toKey(key)),
    clear: () => void clear.run(),
    read(onUnreadable) {
      const good: [string, T][] = [];
      for (const row of all.all() as Row[]) {
        try {
          const key = fromKey(row.key);
          good.push([key, shapeFor(key).parse(JSON.parse(row.json))]);
        } catch (error) {
          const why = reasonOf(error as Error);
          setAside(row, why);
          onUnreadable({ table, key: row.key, why });
        }
      }
      return good;
    },
  };
}

interface Row {
  readonly key: string;
  readonly json: string;
}

/** SQLite cuts a key at a NUL and drops half a surrogate, so that two keys could become one. Such keys are stored as JSON. */
export function toKey(key: string): string {
  return /^"|\0/.test(key) || !isWellFormed(key) ? JSON.stringify(key) : key;
}

export function fromKey(stored: string): string {
  return stored.startsWith('"') ? (JSON.parse(stored) as string) : stored;
}

function isWellFormed(text: string): boolean {
  return Buffer.from(text, 'utf8').toString('utf8') === text;
}

/** The first of the problems, in one line. */
function reasonOf(error: Error & { issues?: { path: PropertyKey[]; message: string }[] }): string {
  const [first] = error.issues ?? [];
  return first ? `${['it', ...first.path.map(String)].join('.')}: ${first.message}` : error.message;
}
