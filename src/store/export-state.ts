import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { BatonError } from '../domain/errors.js';
import type { Json, JsonObject } from '../domain/json.js';
import { fromKey } from './json-table.js';
import { withStoredCopy } from './read-stored.js';

/** Tables of JSON texts, each under its key. */
const KEYED = {
  claims: 'issue_id',
  records: 'issue_id',
  holds: 'source',
  meta: 'name',
  owners: 'workspace_key',
  open_runs: 'marker',
  finished: 'finished_key',
} as const;

/**
 * Everything that is stored, as it is stored. Reads a copy, so it can be asked for while a daemon is at work, and older files come in
 * the form of today. Throws `store_failed` where there is nothing.
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

/** A text that is no JSON is shown as the text that it is. */
function parsed(json: Json | undefined): Json {
  try {
    return JSON.parse(String(json)) as Json;
  } catch {
    return String(json);
  }
}
