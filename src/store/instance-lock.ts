import { createHash, randomBytes } from 'node:crypto';
import { chmodSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { BatonError, toBatonError } from '../domain/errors.js';
import { fieldsOf } from '../domain/json.js';
import { isBusy, isDamage } from './sqlite-file.js';

interface LockOptions {
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

/** Who has a lock, for those who come later. The lock itself is elsewhere: these details may be old, or not there at all. */
export interface LockHolder {
  readonly pid: number;
  /** UTC, ISO 8601. */
  readonly since: string;
  readonly workflow: string;
  /** Where it can be asked. Older versions did not write it down. */
  readonly stateDir?: string;
}

/** The holder is there before its details are: for a moment they are missing, or those of a dead one. */
const LOOKS = 25;
const BETWEEN_LOOKS_MS = 40;

/** Never half-written for those who read. */
export async function writeHolder(path: string, details: LockHolder & { readonly key: string }): Promise<void> {
  const draft = `${path}.${process.pid}-${randomBytes(4).toString('hex')}`;
  try {
    const text = JSON.stringify({ ...details, begun: await processStart(details.pid) }, null, 2);
    await writeFile(draft, `${text}\n`, { mode: 0o600 });
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** The living holder of a lock that is known to be held; `null` when its details do not say. */
async function readHolder(path: string): Promise<LockHolder | null> {
  for (let look = 1; ; look++) {
    const holder = await livingHolder(path);
    if (holder) return holder;
    if (look === LOOKS) return null;
    await delay(BETWEEN_LOOKS_MS);
  }
}

/** Everybody alive who has a lock in this folder, each once, the oldest first. No folder: nobody ever had one. */
export async function listHolders(dir: string): Promise<LockHolder[]> {
  const names = await readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  const details = names.filter((name) => name.endsWith('.json')).map((name) => livingHolder(join(dir, name)));
  const holders = (await Promise.all(details)).filter((one) => one !== null);
  const byDaemon = new Map(holders.map((one) => [`${one.pid} ${one.workflow} ${one.since}`, one]));
  return [...byDaemon.values()].sort((a, b) => (a.since < b.since ? -1 : 1));
}

async function livingHolder(path: string): Promise<LockHolder | null> {
  const { pid, since, workflow, stateDir, begun } = fieldsOf(await jsonIn(path));
  if (typeof pid !== 'number' || !Number.isInteger(pid) || pid <= 0) return null;
  if (typeof since !== 'string' || typeof workflow !== 'string') return null;
  if (!isAlive(pid) || (typeof begun === 'string' && begun !== (await processStart(pid)))) return null;
  return { pid, since, workflow, ...(typeof stateDir === 'string' ? { stateDir } : {}) };
}

async function jsonIn(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch {
    return null;
  }
}

/** Its number may be another's by now, after a boot above all: when that one started tells them apart. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** When a process started, in clock ticks since the boot; `null`: there is none, or the system does not tell. A zombie has ended. */
async function processStart(pid: number): Promise<string | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  // The name, in parentheses, may itself hold blanks and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return 'ZX'.includes(fields[0] ?? '') ? null : (fields[19] ?? null);
}
