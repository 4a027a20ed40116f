import { mkdir, rmdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** Backlog.md takes a lock that nobody renewed for this long as abandoned. */
const STALE_MS = 10_000;
const RETRY_MS = 50;

/**
 * Holds the lock that Backlog.md itself takes while it changes a task: a folder below `.locks`, named after the task. So
 * neither of the two writes over what the other has just written. `false` when it is not free in time.
 */
export async function withTaskLock(
  { folder, taskId, timeoutMs }: { folder: string; taskId: string; timeoutMs: number },
  act: () => Promise<void>,
): Promise<boolean> {
  const name = taskId
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^\.+/, '');
  const lock = path.join(folder, '.locks', `task-${name}`);
  // Not recursive: a board that is away (a checkout, a disk) must not come back empty, or all of its issues would be gone.
  await mkdir(path.dirname(lock)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  for (let waitedMs = 0; !(await take(lock)); waitedMs += RETRY_MS) {
    if (waitedMs >= timeoutMs) return false;
    await delay(RETRY_MS);
  }
  try {
    await act();
    return true;
  } finally {
    // Gone already when somebody took it for abandoned; one that stays is abandoned in ten seconds.
    await rmdir(lock).catch(() => {});
  }
}

async function take(lock: string): Promise<boolean> {
  try {
    await mkdir(lock);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  // Whoever held it, or others who waited, may have removed it by now: the next try will tell.
  const stats = await stat(lock).catch(() => null);
  if (stats && Date.now() - stats.mtimeMs > STALE_MS) await rmdir(lock).catch(() => {});
  return false;
}
