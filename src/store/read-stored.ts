import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import type { Durable } from '../domain/durable.js';
import { BatonError, toBatonError } from '../domain/errors.js';
import { openSqliteStore } from './sqlite-store.js';
import { storeFailure } from './store-failure.js';

const NOTHING: Durable = {
  claims: {},
  records: {},
  holds: {},
  pausedSinceMs: null,
  ledger: {},
  finished: [],
};

/**
 * What a daemon has stored in its state directory, for those who only look. Reads a copy: the file may be in use, be of an older
 * version that opening would change, or be damaged, and looking must not do anything about it.
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

/** Hands over a folder with a copy of the file, in the version of today. */
export async function withStoredCopy<T>(dir: string, look: (copy: string) => T | Promise<T>): Promise<T> {
  const copyDir = await mkdtemp(join(tmpdir(), 'baton-look-'));
  try {
    copyFile(join(dir, 'baton.db'), join(copyDir, 'baton.db'));
    await openSqliteStore({ dir: copyDir, onWarning: () => {} }).close();
    return await look(copyDir);
  } catch (error) {
    // Nobody knows the copy.
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
