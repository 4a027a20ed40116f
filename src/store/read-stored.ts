import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import type { Durable } from '../domain/durable.js';
import { BatonError, toBatonError } from '../domain/errors.js';
import type { Json, JsonObject } from '../domain/json.js';
import type { AllowedContent } from '../domain/workflow.js';
import { fromKey } from './json-table.js';
import { storeFailure } from './sqlite-file.js';
import { openSqliteStore } from './sqlite-store.js';

const NOTHING: Durable = {
  claims: {},
  records: {},
  holds: {},
  pausedSinceMs: null,
  ledger: {},
  finished: [],
};

/**
 * Reads what a daemon has stored, without changing it. It reads a copy, since the file may be in use, damaged, or of an older version that
 * opening would migrate.
 */
export async function readStored(dir: string): Promise<Durable> {
  if (!existsSync(join(dir, 'baton.db'))) return NOTHING;
  return withStoredCopy(dir, async (copy) => {
    const store = openSqliteStore({ dir: copy, onWarning: () => {} });
    try {
      return await store.load();
    } finally {
      await store.close();
    }
  });
}

/** The content of WORKFLOW.md that was last in effect; null when no daemon has started with it. */
export async function readAllowed(dir: string, path: string): Promise<AllowedContent | null> {
  if (!existsSync(join(dir, 'baton.db'))) return null;
  return withStoredCopy(dir, async (copy) => {
    const store = openSqliteStore({ dir: copy, onWarning: () => {} });
    try {
      return await store.allowed.get(path);
    } finally {
      await store.close();
    }
  });
}

/** Runs `read` on a folder with a copy of the file, migrated to the current version. */
export async function withStoredCopy<T>(dir: string, read: (copy: string) => T | Promise<T>): Promise<T> {
  const copyDir = await mkdtemp(join(tmpdir(), 'baton-look-'));
  try {
    copyFile(join(dir, 'baton.db'), join(copyDir, 'baton.db'));
    await openSqliteStore({ dir: copyDir, onWarning: () => {} }).close();
    return await read(copyDir);
  } catch (error) {
    // The message must name the original, not the copy.
    const { code, message, details } = toBatonError(error, 'store_failed');
    throw new BatonError(code, message.replaceAll(copyDir, dir), details, { cause: error });
  } finally {
    await rm(copyDir, { recursive: true, force: true });
  }
}

function copyFile(from: string, to: string): void {
  let db: InstanceType<typeof DatabaseSync> | null = null;
  try {
    db = new DatabaseSync(from, { readOnly: true, timeout: 1_000 });
    db.exec(`VACUUM INTO '${to.replaceAll("'", "''")}'`);
  } catch (error) {
    throw storeFailure(error, from, 'read');
  } finally {
    db?.close();
  }
}

/** Tables of JSON texts, each under its key. */
const KEYED = {
  claims: 'issue_id',
  records: 'issue_id',
  holds: 'source',
  meta: 'name',
  open_runs: 'marker',
  finished: 'finished_key',
  allowed: 'path',
} as const;

/**
 * Everything that is stored, as JSON. It reads a copy, so that it works beside a running daemon, and migrates older files. Throws
 * `store_failed` when there is no state.
 */
export async function exportState(dir: string): Promise<JsonObject> {
  if (!existsSync(join(dir, 'baton.db')))
    throw new BatonError(
      'store_failed',
      `there is no state in ${dir}: no daemon has worked there yet. Name the workflow that it was started with, or its --state-dir`,
    );
  return withStoredCopy(dir, (copy) => {
    const db = new DatabaseSync(join(copy, 'baton.db'), { readOnly: true });
    try {
      const rows = (sql: string) => db.prepare(sql).all() as { [column: string]: Json }[];
      const keyed = Object.entries(KEYED).map(([table, key]) => [
        table,
        Object.fromEntries(
          rows(`SELECT ${key} AS key, json FROM ${table} ORDER BY 1`).map((row) => [
            fromKey(String(row.key)),
            parsed(row.json),
          ]),
        ),
      ]);
      const version = rows('PRAGMA user_version')[0]?.user_version ?? 0;
      return {
        schema_version: version,
        ...Object.fromEntries(keyed),
        spending: rows('SELECT * FROM spending ORDER BY day, issue_id').map((row) => ({
          ...row,
          issue_id: fromKey(String(row.issue_id)),
        })),
        runs: rows('SELECT json FROM runs ORDER BY started_at_ms, run_id').map((row) => parsed(row.json)),
        events: rows('SELECT * FROM events ORDER BY id').map((row) => ({ ...row, fields: parsed(row.fields) })),
        unreadable: rows('SELECT * FROM unreadable ORDER BY id'),
      };
    } finally {
      db.close();
    }
  });
}

/** A text that is no JSON is returned as a string. */
function parsed(json: Json | undefined): Json {
  try {
    return JSON.parse(String(json)) as Json;
  } catch {
    return String(json);
  }
}
