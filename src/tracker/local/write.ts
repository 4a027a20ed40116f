import { randomBytes } from 'node:crypto';
import { closeSync, fstatSync, linkSync, openSync, readSync, renameSync } from 'node:fs';
import { mkdir, open, rmdir, stat, unlink } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { BatonError, toBatonError } from '../../domain/errors.js';
import { stateKey } from '../../domain/issue.js';
import type { BoardEntry } from './board.js';
import { EditRefused, editTask, type TaskEdit } from './edit-task.js';
import { parseTask } from './parse-task.js';
import { UnreadableTaskError } from './sections.js';
import { decodeTask, type FileStats, MAX_TASK_BYTES, READ_FLAGS, readTaskFile } from './task-files.js';

const ATTEMPTS = 10;
/** Long enough for an editor that saves by delete and create. */
const PAUSE_MS = 100;
const LOCK_TIMEOUT_MS = 5_000;

interface UpdateOptions {
  readonly folder: string;
  readonly issueId: string;
  /** The current entry; `null` when it is missing at the moment. Throws `tracker_refused` when it is gone. */
  locate(): Promise<BoardEntry | null>;
  /** The edit; `null` when nothing is to be changed. Throws `tracker_refused`. */
  plan(entry: BoardEntry): TaskEdit | null;
  readonly wallMs: () => number;
  readonly signal: AbortSignal;
}

/** Edits the current content of a task file, and starts over when another program changes it meanwhile. Throws `BatonError`. */
export async function updateTask(options: UpdateOptions): Promise<BoardEntry> {
  const { issueId, locate, plan, signal } = options;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    if (signal.aborted) throw new BatonError('tracker_request', `The change of ${issueId} was cancelled.`);
    const entry = await locate();
    const edit = entry && plan(entry);
    if (entry && (edit === null || (await tryUpdate(entry, edit, options)))) return entry;
    await delay(PAUSE_MS);
  }
  const message = `${issueId} was not changed: its file is missing, cannot be read, or is changed again and again. Look at it in ${options.folder}, or try again later.`;
  throw new BatonError('tracker_refused', message);
}

async function tryUpdate(entry: BoardEntry, edit: TaskEdit, { folder, wallMs }: UpdateOptions): Promise<boolean> {
  let isDone = false;
  try {
    const isFree = await withTaskLock({ folder, taskId: lockedId(entry), timeoutMs: LOCK_TIMEOUT_MS }, async () => {
      const file = await readTaskFile(entry.path);
      if (!file) return;
      const text = decodeTask(file.bytes);
      const edited = editedText(entry, text, edit, wallMs());
      if (edited === null) {
        isDone = true;
        return;
      }
      const content = Buffer.from(edited);
      // A larger file would not be read again, and the issue would be lost.
      if (content.length > MAX_TASK_BYTES) throw new EditRefused(`It would be larger than ${MAX_TASK_BYTES} bytes.`);
      isDone = await replaceTaskFile(entry.path, { expected: file.bytes, stats: file.stats, content });
    });
    if (!isFree) {
      const message = `${entry.task.id} has been locked by another program for more than ${LOCK_TIMEOUT_MS / 1000} s (in ${folder}/.locks). Try again later.`;
      throw new BatonError('tracker_refused', message);
    }
    return isDone;
  } catch (error) {
    if (error instanceof EditRefused) throw refused(`${entry.path}: ${error.message}`, error);
    // Half-written by another program, so try again.
    if (error instanceof UnreadableTaskError) return false;
    if (error instanceof BatonError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    const message = `${entry.path} could not be written (${code ?? toBatonError(error).message}). Check rights and free space of ${folder}.`;
    throw new BatonError('tracker_request', message, { code }, { cause: error });
  }
}

/** Returns null when the task already has the status and there is no comment. */
function editedText(entry: BoardEntry, text: string, { status, comment }: TaskEdit, wallMs: number): string | null {
  const { status: current, id } = parseTask(text);
  if (id !== entry.task.id) throw new UnreadableTaskError(`is no longer ${entry.task.id}`);
  const hasStatus = status === undefined || stateKey(status) === stateKey(current);
  if (hasStatus && comment === undefined) return null;
  const edit = { ...(hasStatus ? {} : { status }), ...(comment === undefined ? {} : { comment }) };
  return editTask(text, edit, wallMs);
}

/** Backlog.md names locks by the written id, with its prefix. */
function lockedId({ id, task }: BoardEntry): string {
  return /^[a-z]+-/i.test(task.id) ? task.id : id;
}

function refused(message: string, cause: unknown): BatonError {
  return new BatonError('tracker_refused', message, {}, { cause });
}

/** Until then, an editor that had the old file open has finished writing. */
const SETTLE_MS = 50;

/**
 * Replaces a file that still has the content `expected`. The new content is first written to a hidden name, then renamed. Returns
 * false when another program changed the file before that, or wrote to the old file while it was replaced; the old file is then
 * restored. Permissions are kept.
 */
export async function replaceTaskFile(
  file: string,
  { expected, stats, content }: { expected: Buffer; stats: FileStats; content: Buffer },
): Promise<boolean> {
  const hidden = path.join(path.dirname(file), `.baton-${randomBytes(8).toString('hex')}`);
  const [temporary, old] = [`${hidden}.tmp`, `${hidden}.old.tmp`];
  try {
    await writeNew(temporary, content, stats);
    const isLinked = linkFile(file, old);
    // Synchronous: nothing else of this process runs between comparison and rename.
    if (!holds(file, expected)) return false;
    renameSync(temporary, file);
    await syncFolder(path.dirname(file));
    if (!isLinked) return true;
    await delay(SETTLE_MS);
    if (holds(old, expected) || !holds(file, content)) return true;
    renameSync(old, file);
    return false;
  } finally {
    // A renamed file is not there any more.
    for (const name of [temporary, old]) await unlink(name).catch(() => {});
  }
}

/** Some file systems have no hard links. */
function linkFile(file: string, name: string): boolean {
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
    // Only root may change the owner; others may set a group of their own.
    await handle.chown(Number(stats.uid), Number(stats.gid)).catch(() => {});
    await handle.chmod(Number(stats.mode) & 0o7777);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Never blocks, and reads at most one byte more than expected. */
function holds(file: string, expected: Buffer): boolean {
  let fd: number | null = null;
  try {
    fd = openSync(file, READ_FLAGS);
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

/** Makes the rename survive a crash of the machine, where the file system supports it. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => null);
  if (!handle) return;
  await handle.sync().catch(() => {});
  await handle.close();
}

/** Backlog.md treats an older lock as abandoned. */
const STALE_MS = 10_000;
const RETRY_MS = 50;

/**
 * Holds the lock that Backlog.md takes while it changes a task: a folder below `.locks`, named after the task. So neither program
 * overwrites a change of the other. Returns false when the lock is not free in time.
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
  // Not recursive: a missing board (a checkout, a disk) must not be created empty, or all issues would count as gone.
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
    // Another program may have removed it as abandoned. A lock that cannot be removed is abandoned in ten seconds.
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
  // It may be removed by now; the next attempt shows it.
  const stats = await stat(lock).catch(() => null);
  if (stats && Date.now() - stats.mtimeMs > STALE_MS) await rmdir(lock).catch(() => {});
  return false;
}
