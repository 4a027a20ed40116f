import { randomBytes } from 'node:crypto';
import { closeSync, fstatSync, linkSync, openSync, readSync, renameSync } from 'node:fs';
import { open, unlink } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type FileStats, READ_AS_IT_IS } from './read-task-file.js';

/** An editor that had the file open when we replaced it has written by then. */
const SETTLE_MS = 50;

/**
 * Replaces a file as a whole, if it still holds `expected`: the new content is on disk under a name that neither we nor
 * Backlog.md read, then takes the place of the old. `false` when somebody changed the file meanwhile: before, or into the
 * old file while it was being replaced, which is then put back. Rights are kept.
 */
export async function replaceTaskFile(
  file: string,
  { expected, stats, content }: { expected: Buffer; stats: FileStats; content: Buffer },
): Promise<boolean> {
  const hidden = path.join(path.dirname(file), `.baton-${randomBytes(8).toString('hex')}`);
  const [temporary, old] = [`${hidden}.tmp`, `${hidden}.old.tmp`];
  try {
    await writeNew(temporary, content, stats);
    const isKept = hasSecondName(file, old);
    // Nothing else of this process runs between the comparison and the rename.
    if (!holds(file, expected)) return false;
    renameSync(temporary, file);
    await syncFolder(path.dirname(file));
    if (!isKept) return true;
    await delay(SETTLE_MS);
    if (holds(old, expected) || !holds(file, content)) return true;
    renameSync(old, file);
    return false;
  } finally {
    // After a rename there is nothing left to remove.
    for (const name of [temporary, old]) await unlink(name).catch(() => {});
  }
}

/** Not every file system knows how. */
function hasSecondName(file: string, name: string): boolean {
  try {
    linkSync(file, name);
    return true;
  } catch {
    return false;
  }
}

async function writeNew(file: string, content: Buffer, stats: FileStats): Promise<void> {
  const handle = await open(file, 'wx', 0o600);
  try {
    await handle.writeFile(content);
    // Only root may give files away; a group of our own we may set.
    await handle.chown(Number(stats.uid), Number(stats.gid)).catch(() => {});
    await handle.chmod(Number(stats.mode) & 0o7777);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Whatever lies there by now: nothing is waited for, and no more than one byte more is read. */
function holds(file: string, expected: Buffer): boolean {
  let fd: number | null = null;
  try {
    fd = openSync(file, READ_AS_IT_IS);
    if (!fstatSync(fd).isFile()) return false;
    const found = Buffer.allocUnsafe(expected.length + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < found.length; length += read) {
      read = readSync(fd, found, length, found.length - length, null);
    }
    return found.subarray(0, length).equals(expected);
  } catch {
    return false;
  } finally {
    if (fd !== null) closeSync(fd);
  }
}

/** The rename itself survives a crash of the machine; some file systems do not know how, and that is no failure. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => null);
  if (!handle) return;
  await handle.sync().catch(() => {});
  await handle.close();
}
