import { createHash } from 'node:crypto';
import { chmodSync } from 'node:fs';
import { chmod, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { BatonError, toBatonError } from '../domain/errors.js';
import { type LockHolder, readHolder, writeHolder } from './lock-holder.js';
import { isBusy, isDamage } from './store-failure.js';

export interface LockOptions {
  /** What only one daemon may work on, in words: they are shown to whoever comes second. */
  readonly keys: readonly string[];
  /** The same for all daemons that could meet. Made if it is not there, for this user only. */
  readonly dir: string;
  readonly holder: LockHolder;
}

export interface Locks {
  release(): Promise<void>;
}

interface Lock {
  readonly db: DatabaseSyncInstance;
  readonly detailsPath: string;
}

/** A lock whose connection is collected is free, and nobody would notice. */
const held = new Set<DatabaseSyncInstance>();

/**
 * Takes all of the locks or none; `already_running` names who has one of them. A lock is an open write transaction on a
 * file: the kernel ends it with its process, however that ends, so a dead holder never blocks. Lock files stay behind,
 * empty: to delete one would let two processes hold "the same" lock.
 *
 * It keeps apart the daemons of one user on one machine. Out of scope: network file systems, where locks of files may
 * mean nothing, containers that share a folder but not its locks, and daemons that are told different folders.
 */
export async function takeLocks({ keys, dir, holder }: LockOptions): Promise<Locks> {
  await makeFolder(dir);
  const locks: Lock[] = [];
  try {
    for (const { key, name } of inOrder(keys)) {
      const lock = { db: await begin(dir, name, key), detailsPath: join(dir, `${name}.json`) };
      locks.push(lock);
      await writeHolder(lock.detailsPath, { ...holder, key });
    }
  } catch (error) {
    await freeAll(locks);
    throw error instanceof BatonError ? error : unusable(dir, error);
  }
  return { release: () => freeAll(locks) };
}

/** The same order for everybody: of several daemons that want each other's locks, one gets all of its own. */
function inOrder(keys: readonly string[]): { readonly key: string; readonly name: string }[] {
  const named = [...new Set(keys)].map((key) => ({
    key,
    name: createHash('sha256').update(key).digest('hex').slice(0, 32),
  }));
  return named.sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function makeFolder(dir: string): Promise<void> {
  try {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    await chmod(dir, 0o700);
  } catch (error) {
    throw unusable(dir, error);
  }
}

/** IMMEDIATE, not EXCLUSIVE: of those who come at once exactly one gets it, and a person may look into the file. */
async function begin(dir: string, name: string, key: string): Promise<DatabaseSyncInstance> {
  const path = join(dir, `${name}.lock`);
  const db = new DatabaseSync(path, { timeout: 0 });
  try {
    chmodSync(path, 0o600);
    // No journal on disk: nothing is ever written, and nothing is to be rolled back after a kill.
    db.exec('PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE');
    held.add(db);
    return db;
  } catch (error) {
    db.close();
    if (isBusy(error)) throw await alreadyRunning(dir, name, key);
    if (isDamage(error))
      throw new BatonError('store_failed', `${path} is no lock of Baton. Remove it`, {}, { cause: error });
    throw error;
  }
}

async function alreadyRunning(dir: string, name: string, key: string): Promise<BatonError> {
  const holder = await readHolder(join(dir, `${name}.json`));
  const who = holder
    ? `pid ${holder.pid}, since ${holder.since}, with ${holder.workflow}. Stop it first (kill ${holder.pid})`
    : `its details cannot be read, but "fuser ${join(dir, `${name}.lock`)}" names its pid. Stop it first`;
  const message = `another Baton is at work on ${key}: ${who}, or let this one work elsewhere: other workspace.root and other issues`;
  return new BatonError('already_running', message, { key, ...(holder ? { holder } : {}) });
}

async function freeAll(locks: Lock[]): Promise<void> {
  for (const { db, detailsPath } of locks.splice(0).reverse()) {
    // Before the lock is free: afterwards they may be those of the next holder, who writes its own over what stayed.
    await rm(detailsPath, { force: true }).catch(() => {});
    held.delete(db);
    db.close();
  }
}

function unusable(dir: string, error: unknown): BatonError {
  const { message } = toBatonError(error);
  return new BatonError(
    'store_failed',
    `the lock folder ${dir} cannot be used: ${message}. Make it writable for this user, or set XDG_STATE_HOME to a folder that is`,
    { dir },
    { cause: error },
  );
}
