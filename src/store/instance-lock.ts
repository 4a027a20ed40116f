import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, readFileSync } from 'node:fs';
import { chmod, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { BatonError, toBatonError } from '../domain/errors.js';
import { fieldsOf } from '../domain/json.js';
import { isBusy, isDamage } from './sqlite-file.js';

/** The key of the lock on a state directory, which lies in that directory. */
export function stateKey(stateDir: string): string {
  return `the state in ${stateDir}`;
}

interface LockOptions {
  /** Each names something that only one daemon may work on. They are shown in the error message. */
  readonly keys: readonly string[];
  /** The same folder for all daemons that may conflict. Created for this user only. */
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

/** References the connections: a lock whose connection is garbage-collected would be free. */
const held = new Set<DatabaseSyncInstance>();

/**
 * Takes all of the locks or none. Throws `already_running` with the holder of the first lock that is taken. A lock is an open write
 * transaction on a file. The kernel ends it with its process, so that a dead holder never blocks. The empty lock files stay: after a
 * deletion two processes could hold "the same" lock.
 *
 * Locks separate the daemons of one user on one machine. They do not cover network file systems, and containers that share a folder but
 * not its locks.
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

/** All daemons take locks in the same order, so that one of several competing daemons gets all of its locks. */
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

/** IMMEDIATE, not EXCLUSIVE: exactly one of several concurrent daemons gets it, and a person may read the file meanwhile. */
async function begin(dir: string, name: string, key: string): Promise<DatabaseSyncInstance> {
  const path = join(dir, `${name}.lock`);
  const db = new DatabaseSync(path, { timeout: 0 });
  try {
    chmodSync(path, 0o600);
    // No journal on disk: nothing is written, so that nothing has to be rolled back after a kill.
    db.exec('PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE');
    held.add(db);
    return db;
  } catch (error) {
    db.close();
    if (isBusy(error)) throw await alreadyRunning(dir, name, key);
    if (isDamage(error))
      throw new BatonError('store_failed', `${path} is not a lock file of Baton. Remove it`, {}, { cause: error });
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
    // Before the lock is released: afterwards the file may hold the details of the next holder.
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

/** The holder of a lock, in a file beside it. The file may be missing or describe an earlier holder. */
export interface LockHolder {
  readonly pid: number;
  /** UTC, ISO 8601. */
  readonly since: string;
  readonly workflow: string;
  /** The state directory with its socket. Older versions did not write it. */
  readonly stateDir?: string;
}

/** The lock is taken before its details are written, so that they may be missing or outdated for a moment. */
const READ_TRIES = 25;
const BETWEEN_TRIES_MS = 40;

/** Replaces the file at once, so that no reader sees half of it. */
export async function writeHolder(path: string, details: LockHolder & { readonly key: string }): Promise<void> {
  const draft = `${path}.${process.pid}-${randomBytes(4).toString('hex')}`;
  try {
    const text = JSON.stringify({ ...details, begun: startTimeOf(details.pid) }, null, 2);
    await writeFile(draft, `${text}\n`, { mode: 0o600 });
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** The live holder of a lock that is known to be held, or null when its details are unknown. */
async function readHolder(path: string): Promise<LockHolder | null> {
  for (let tries = 1; ; tries++) {
    const holder = livingHolder(path);
    if (holder) return holder;
    if (tries === READ_TRIES) return null;
    await delay(BETWEEN_TRIES_MS);
  }
}

/** Every live holder of a lock in this folder, once each, the oldest first. Empty when there is no folder. */
export async function listHolders(dir: string): Promise<LockHolder[]> {
  const names = await readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  const holders = names.filter((name) => name.endsWith('.json')).flatMap((name) => livingHolder(join(dir, name)) ?? []);
  const byDaemon = new Map(holders.map((one) => [`${one.pid} ${one.workflow} ${one.since}`, one]));
  return [...byDaemon.values()].sort((a, b) => (a.since < b.since ? -1 : 1));
}

function livingHolder(path: string): LockHolder | null {
  const { pid, since, workflow, stateDir, begun } = fieldsOf(jsonIn(path));
  if (typeof pid !== 'number' || !Number.isInteger(pid) || pid <= 0) return null;
  if (typeof since !== 'string' || typeof workflow !== 'string') return null;
  if (!isRunning(pid, typeof begun === 'string' ? begun : null)) return null;
  return { pid, since, workflow, ...(typeof stateDir === 'string' ? { stateDir } : {}) };
}

function jsonIn(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}

/** Whether a process runs that started at that time, if a time is given: its pid may belong to another process by now. */
export function isRunning(pid: number, startTime: string | null): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  const now = startTimeOf(pid);
  return startTime === null || now === null || now === startTime;
}

/** When a process started, in clock ticks since boot. Null without /proc. A zombie has ended. */
export function startTimeOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name stands in parentheses and may itself hold blanks and parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return 'ZX'.includes(fields[0] ?? '') ? 'ended' : (fields[19] ?? null);
  } catch {
    return null;
  }
}
