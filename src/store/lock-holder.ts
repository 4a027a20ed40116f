import { randomBytes } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

/** Who has a lock, for those who come later. The lock itself is elsewhere: these details may be old, or not there at all. */
export interface LockHolder {
  readonly pid: number;
  /** UTC, ISO 8601. */
  readonly since: string;
  readonly workflow: string;
}

/** The holder is there before its details are: for a moment they are missing, or those of a dead one. */
const LOOKS = 25;
const BETWEEN_LOOKS_MS = 40;

/** Never half-written for those who read. */
export async function writeHolder(path: string, details: LockHolder & { readonly key: string }): Promise<void> {
  const draft = `${path}.${process.pid}-${randomBytes(4).toString('hex')}`;
  try {
    await writeFile(draft, `${JSON.stringify(details, null, 2)}\n`, { mode: 0o600 });
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** The living holder of a lock that is known to be held; `null` when its details do not say. */
export async function readHolder(path: string): Promise<LockHolder | null> {
  for (let look = 1; ; look++) {
    const holder = await parse(path);
    if (holder && isAlive(holder.pid)) return holder;
    if (look === LOOKS) return null;
    await delay(BETWEEN_LOOKS_MS);
  }
}

async function parse(path: string): Promise<LockHolder | null> {
  try {
    const { pid, since, workflow } = JSON.parse(await readFile(path, 'utf8'));
    const isComplete = Number.isInteger(pid) && pid > 0 && typeof since === 'string' && typeof workflow === 'string';
    return isComplete ? { pid, since, workflow } : null;
  } catch {
    return null;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
