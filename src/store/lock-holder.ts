import { randomBytes } from 'node:crypto';
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fieldsOf } from '../domain/fields.js';
import { processStart } from './process-start.js';

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
export async function readHolder(path: string): Promise<LockHolder | null> {
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
