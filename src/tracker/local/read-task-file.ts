import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { TaskUnreadable } from './task-unreadable.js';

/** More is not a task: refused before it fills memory. */
export const MAX_TASK_BYTES = 1_000_000;

/** Without O_NONBLOCK, opening a FIFO waits until somebody writes to it. */
export const READ_AS_IT_IS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW | constants.O_NOCTTY;

interface TaskBytes {
  readonly bytes: Buffer;
  readonly stats: FileStats;
}

export type FileStats = Awaited<ReturnType<typeof statsOf>>;

/**
 * Never blocks and never follows a symlink, whatever lies at the path. Throws `TaskUnreadable` for what is no readable
 * file; `null` when nothing is there (any more).
 */
export async function readTaskFile(path: string): Promise<TaskBytes | null> {
  let handle: FileHandle;
  try {
    handle = await open(path, READ_AS_IT_IS);
  } catch (error) {
    return absentOr(error);
  }
  try {
    const stats = await statsOf(handle);
    if (!stats.isFile()) throw new TaskUnreadable('is no regular file');
    return { bytes: await readBounded(handle, Number(stats.size)), stats };
  } catch (error) {
    return absentOr(error);
  } finally {
    await handle.close();
  }
}

/** The text, with its byte order mark: encoded again it is the same bytes. */
export function decodeTask(bytes: Buffer): string {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new TaskUnreadable('is not valid UTF-8', { cause: error });
  }
  if (text.includes('\0')) throw new TaskUnreadable('has a NUL byte in it');
  return text;
}

function statsOf(handle: FileHandle) {
  return handle.stat({ bigint: true });
}

/** The size is a first look only: the file may grow while it is read. */
async function readBounded(handle: FileHandle, size: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let total = 0;
  for (let room = Math.min(size, MAX_TASK_BYTES) + 1; total <= MAX_TASK_BYTES; room = 65_536) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(room), 0, room, null);
    if (bytesRead === 0) return Buffer.concat(chunks, total);
    total += bytesRead;
    chunks.push(buffer.subarray(0, bytesRead));
  }
  throw new TaskUnreadable(`is larger than ${MAX_TASK_BYTES} bytes`);
}

function absentOr(error: unknown): null {
  if (error instanceof TaskUnreadable) throw error;
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
  if (code === 'ENOENT') return null;
  if (code === 'ELOOP') throw new TaskUnreadable('is a symlink, and symlinks are not followed', { cause: error });
  if (code === 'EISDIR' || code === 'ENXIO') throw new TaskUnreadable('is no regular file', { cause: error });
  const reason = code === 'EACCES' || code === 'EPERM' ? 'may not be read by this user' : `cannot be read (${code})`;
  throw new TaskUnreadable(reason, { cause: error });
}
