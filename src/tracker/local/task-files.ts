import { type BigIntStats, constants, lstatSync } from 'node:fs';
import { type FileHandle, open, readdir } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Issue } from '../../domain/issue.js';
import { normaliseIssue } from '../normalise-issue.js';
import { parseTask, type Task } from './parse-task.js';
import { TaskUnreadable } from './sections.js';

/** What was found at one path. */
export type TaskFile = {
  readonly path: string;
  readonly name: string;
} /** `issue` is what the file alone tells: where it lies, and other files, have a say in its state and blockers. */ & (
  | { readonly task: Task; readonly issue: Issue }
  /** `hint` is an id that the text still shows. */
  | { readonly task: null; readonly problem: string; readonly hint: string | null }
);

/** Opening a file takes several trips to the thread pool, which has four threads. */
const PARALLEL = 8;
/** File systems tell time in steps of some milliseconds: two changes within one step look like one. */
const SETTLED_MS = 200;
/** Agents are heard between two slices. */
const SLICE_MS = 5;

/**
 * The tasks of a folder, file by file. A file is read again only when device, inode, size or one of its times differs
 * from the last reading, or when it was so fresh then that another change could hide behind the same times.
 */
export class TaskFiles {
  readonly #cache = new Map<string, Map<string, { readonly key: string; readonly file: TaskFile }>>();

  /** Throws what `readdir` throws; a file that vanishes meanwhile is left out. */
  async read(folder: string, signal: AbortSignal): Promise<TaskFile[]> {
    const names = (await readdir(folder)).filter(isTaskName).sort();
    const known = this.#cache.get(folder);
    const kept: NonNullable<typeof known> = new Map();
    const files: (TaskFile | null)[] = [];
    const changed: number[] = [];
    let sliceEndsAt = performance.now() + SLICE_MS;
    for (const [index, name] of names.entries()) {
      // Trips to the thread pool cost ten times as much as the look itself; a dead mount was met by `readdir`.
      const looked = look(path.join(folder, name), name);
      const before = known?.get(name);
      if (typeof looked !== 'string') files[index] = looked;
      else if (before?.key === looked) {
        files[index] = before.file;
        kept.set(name, before);
      } else changed.push(index);
      if (performance.now() < sliceEndsAt) continue;
      await nextTurn();
      if (signal.aborted) return [];
      sliceEndsAt = performance.now() + SLICE_MS;
    }
    this.#cache.set(folder, kept);
    const work = async (): Promise<void> => {
      for (let next = changed.pop(); next !== undefined && !signal.aborted; next = changed.pop()) {
        const name = names[next] as string;
        const { read, stats } = await readAndParse(path.join(folder, name), name);
        const isSettled = stats !== null && Date.now() - Number(stats.ctimeMs) > SETTLED_MS;
        if (read && isSettled) kept.set(name, { key: keyOf(stats), file: read });
        files[next] = read;
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, work));
    return files.filter((file) => file !== null && file !== undefined);
  }
}

/** What tells one version of a file from another; what is no file is known by now; `null` when nothing is there. */
function look(file: string, name: string): string | TaskFile | null {
  try {
    const stats = lstatSync(file, { bigint: true });
    return stats.isFile() ? keyOf(stats) : broken(file, name, notAFile(stats));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? null : broken(file, name, `cannot be looked at (${code})`);
  }
}

/** Names that begin with a dot are of editors and of our own unfinished writes; Backlog.md skips them, too. */
export function isTaskName(name: string): boolean {
  return name.endsWith('.md') && !name.startsWith('.') && name.toLowerCase() !== 'readme.md';
}

async function readAndParse(file: string, name: string): Promise<{ read: TaskFile | null; stats: FileStats | null }> {
  let stats: FileStats | null = null;
  let text: string | null = null;
  try {
    const found = await readTaskFile(file);
    if (!found) return { read: null, stats: null };
    stats = found.stats;
    text = decodeTask(found.bytes);
    const task = parseTask(text);
    return { read: { path: file, name, task, issue: issueOf(task, file) }, stats };
  } catch (error) {
    if (!(error instanceof TaskUnreadable)) throw error;
    return { read: broken(file, name, error.message, text), stats };
  }
}

function issueOf(task: Task, file: string): Issue {
  return normaliseIssue({
    id: task.id,
    identifier: task.id,
    title: task.title,
    description: task.description,
    priority: task.priority,
    state: task.status,
    assignee_id: task.assignee,
    labels: task.labels,
    comments: task.comments,
    native_ref: file,
    created_at: task.createdAt,
    updated_at: task.updatedAt,
  });
}

function broken(file: string, name: string, reason: string, text: string | null = null): TaskFile {
  const problem = `${file}: ${reason}. Fix it or move it out of the folder; until then it is no issue.`;
  return { path: file, name, task: null, problem, hint: text === null ? null : idInBrokenText(text) };
}

function notAFile(stats: BigIntStats): string {
  if (stats.isSymbolicLink()) return 'is a symlink, and symlinks are not followed';
  return stats.isDirectory() ? 'is a folder, not a file' : 'is no regular file';
}

function keyOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`;
}

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

/** How Backlog.md names files: `task-12.1 - Some-title.md`. */
const FILE_NAME = /^([a-z]+-[a-z0-9]+(?:[._-][a-z0-9]+)*)(?= -|\.md$)/i;
const ID_LINE = /^["']?id["']?[ \t]*:[ \t]*["']?([a-z]+-[a-z0-9]+(?:[._-][a-z0-9]+)*)/im;
/** An id stands among the first lines; what looks like one further down is text. */
const HEAD_CHARS = 4_096;

/**
 * One form for all spellings that Backlog.md takes for the same task: `task-1`, `TASK-01` and, with that prefix, `1` are
 * `TASK-1`.
 */
export function canonicalId(written: string, prefix: string): string {
  const text = written.trim();
  const parts = /^(?:([a-z]+)-)?(\d+(?:\.\d+)*)$/i.exec(text);
  if (!parts) return text.toUpperCase();
  const numbers = (parts[2] ?? '').split('.').map((digits) => digits.replace(/^0+(?=\d)/, ''));
  return `${(parts[1] ?? prefix).toUpperCase()}-${numbers.join('.')}`;
}

/** The id that a file's name tells, as written there; null for names that Backlog.md does not give. */
export function idInFileName(name: string): string | null {
  return FILE_NAME.exec(name)?.[1] ?? null;
}

/** The id of a task whose text as a whole makes no sense (yet). */
function idInBrokenText(text: string): string | null {
  return ID_LINE.exec(text.slice(0, HEAD_CHARS))?.[1] ?? null;
}
