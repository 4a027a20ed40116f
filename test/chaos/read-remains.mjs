import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';

/** The remains of a dead daemon on disk: its store, and the notes beside the workspaces. */
export function lookAfter(world) {
  return { store: storeNow(world), creating: names(join(world.root, '.baton/creating')) };
}

/**
 * The store, read from a copy; null when there is none yet. A reader of the original file would prevent the next daemon from being the
 * first opener, and only the first opener recovers the log beyond the last commit.
 */
export function storeNow(world) {
  if (!existsSync(join(world.stateDir, 'baton.db'))) return null;
  const copy = mkdtempSync(join(world.dir, 'look-'));
  try {
    for (const name of ['baton.db', 'baton.db-wal']) {
      if (existsSync(join(world.stateDir, name))) cpSync(join(world.stateDir, name), join(copy, name));
    }
    return readStore(join(copy, 'baton.db'));
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

export function lookAtEnd(world) {
  const isOurs = (name) => name.startsWith('baton-');
  return {
    statuses: world.statuses(),
    ...lookAfter(world),
    ...foldersOf(world),
    tmp: names(world.tmp).filter(isOurs),
    saved: names(join(world.stateDir, 'saved')),
  };
}

/** The workspaces, and the notes about half-made and half-deleted ones. */
export function foldersOf({ root }) {
  return {
    workspaces: names(root).filter((name) => name !== '.baton'),
    creating: names(join(root, '.baton/creating')),
    trash: names(join(root, '.baton/trash')),
    owners: names(join(root, '.baton/owners')),
  };
}

function readStore(path) {
  const db = new DatabaseSync(path);
  try {
    const tables = new Set(rows(db, "SELECT name FROM sqlite_master WHERE type = 'table'").map(({ name }) => name));
    const json = (table, key) =>
      tables.has(table)
        ? Object.fromEntries(
            rows(db, `SELECT ${key} AS key, json FROM ${table}`).map((row) => [row.key, JSON.parse(row.json)]),
          )
        : {};
    return {
      claims: json('claims', 'issue_id'),
      records: json('records', 'issue_id'),
      openRuns: json('open_runs', 'marker'),
      unreadable: tables.has('unreadable') ? rows(db, 'SELECT * FROM unreadable').length : 0,
      integrity: rows(db, 'PRAGMA integrity_check')
        .map((row) => row.integrity_check)
        .join(),
    };
  } finally {
    db.close();
  }
}

function rows(db, sql) {
  return db.prepare(sql).all();
}

function names(folder) {
  return existsSync(folder) ? readdirSync(folder) : [];
}
