import { type BigIntStats, constants, lstatSync } from 'node:fs';
import { type FileHandle, open, readdir } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Issue } from '../../domain/issue.js';
import { normaliseIssue } from '../normalise-issue.js';
import { parseTask, type Task } from './parse-task.js';
import { UnreadableTaskError } from './sections.js';

/** A file in a folder of tasks. */
export type TaskFile = {
  readonly path: string;
  readonly name: string;
} /** `issue` has only the data of the file; its folder and other files decide state and blockers. */ & (
  | { readonly task: Task; readonly issue: Issue }
  /** `hint` is an id found in the text. */
  | { readonly task: null; readonly problem: string; readonly hint: string | null }
);

/** Opening a file takes several trips to the thread pool, which has four threads. */
const PARALLEL = 8;
/** File times have steps of some milliseconds: two changes within one step look the same. */
const SETTLED_MS = 200;
/** Other work runs between two slices. */
const SLICE_MS = 5;

/**
 * Reads the tasks of a folder. A file is read again only when its device, inode, size or times have changed, or when it was so
 * fresh at the last read that a later change could have the same times.
 */
export class TaskFiles {
  readonly #cache = new Map<string, Map<string, { readonly version: string; readonly file: TaskFile }>>();

  /** Throws like `readdir`. A file that vanishes meanwhile is left out. */
  async read(folder: string, signal: AbortSignal): Promise<TaskFile[]> {
    const names = (await readdir(folder)).filter(isTaskName).sort();
    const known = this.#cache.get(folder);
    const cache: NonNullable<typeof known> = new Map();
    const files: (TaskFile | null)[] = [];
    const changed: number[] = [];
    let sliceEndsAt = performance.now() + SLICE_MS;
    for (const [index, name] of names.entries()) {
      // Synchronous, because a trip to the thread pool costs ten times as much. A dead mount has already failed in `readdir`.
      const version = versionAt(path.join(folder, name), name);
      const before = known?.get(name);
      if (typeof version !== 'string') files[index] = version;
      else if (before?.version === version) {
        files[index] = before.file;
        cache.set(name, before);
      } else changed.push(index);
      if (performance.now() < sliceEndsAt) continue;
      await yieldToEventLoop();
      if (signal.aborted) return [];
      sliceEndsAt = performance.now() + SLICE_MS;
    }
    this.#cache.set(folder, cache);
    const work = async (): Promise<void> => {
      for (let next = changed.pop(); next !== undefined && !signal.aborted; next = changed.pop()) {
        const name = names[next] as string;
        const { file, stats } = await readAndParse(path.join(folder, name), name);
        const isSettled = stats !== null && Date.now() - Number(stats.ctimeMs) > SETTLED_MS;
        if (file && isSettled) cache.set(name, { version: versionOf(stats), file });
        files[next] = file;
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, work));
    return files.filter((file) => file !== null && file !== undefined);
  }
}

/** The version of a regular file, a broken file for anything else, and null when nothing is there. */
function versionAt(file: string, name: string): string | TaskFile | null {
  try {
    const stats = lstatSync(file, { bigint: true });
    return stats.isFile() ? versionOf(stats) : broken(file, name, notAFile(stats));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? null : broken(file, name, `cannot be read (${code})`);
  }
}

/** Hidden files belong to editors and to Baton's unfinished writes. Backlog.md skips them as well. */
export function isTaskName(name: string): boolean {
  return name.endsWith('.md') && !name.startsWith('.') && name.toLowerCase() !== 'readme.md';
}

async function readAndParse(
  filePath: string,
  name: string,
): Promise<{ file: TaskFile | null; stats: FileStats | null }> {
  let stats: FileStats | null = null;
  let text: string | null = null;
  try {
    const found = await readTaskFile(filePath);
    if (!found) return { file: null, stats: null };
    stats = found.stats;
    text = decodeTask(found.bytes);
    const task = parseTask(text);
    return { file: { path: filePath, name, task, issue: issueOf(task, filePath) }, stats };
  } catch (error) {
    if (!(error instanceof UnreadableTaskError)) throw error;
    return { file: broken(filePath, name, error.message, text), stats };
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
    native_ref: { file },
    created_at: task.createdAt,
    updated_at: task.updatedAt,
  });
}

function broken(file: string, name: string, reason: string, text: string | null = null): TaskFile {
  const problem = `${file}: ${reason}. Fix it or move it out of the folder; until then it is not an issue.`;
  return { path: file, name, task: null, problem, hint: text === null ? null : idInBrokenText(text) };
}

function notAFile(stats: BigIntStats): string {
  if (stats.isSymbolicLink()) return 'is a symlink, and symlinks are not followed';
  return stats.isDirectory() ? 'is a folder, not a file' : 'is not a regular file';
}

function versionOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`;
}

/** Larger files are rejected before they fill memory. */
export const MAX_TASK_BYTES = 1_000_000;

/** Without O_NONBLOCK, opening a FIFO waits for a writer. */
export const READ_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW | constants.O_NOCTTY;

interface TaskBytes {
  readonly bytes: Buffer;
  readonly stats: FileStats;
}

export type FileStats = Awaited<ReturnType<typeof statsOf>>;

/**
 * Never blocks and never follows a symlink. Throws `UnreadableTaskError` for anything but a readable regular file, and returns
 * null when nothing is there.
 */
export async function readTaskFile(path: string): Promise<TaskBytes | null> {
  let handle: FileHandle;
  try {
    handle = await open(path, READ_FLAGS);
  } catch (error) {
    return absentOr(error);
  }
  try {
    const stats = await statsOf(handle);
    if (!stats.isFile()) throw new UnreadableTaskError('is not a regular file');
    return { bytes: await readBounded(handle, Number(stats.size)), stats };
  } catch (error) {
    return absentOr(error);
  } finally {
    await handle.close();
  }
}

/** Keeps the byte order mark, so that the text encodes to the same bytes. */
export function decodeTask(bytes: Buffer): string {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new UnreadableTaskError('is not valid UTF-8', { cause: error });
  }
  if (text.includes('\0')) throw new UnreadableTaskError('contains a NUL byte');
  return text;
}

function statsOf(handle: FileHandle) {
  return handle.stat({ bigint: true });
}

/** The file may grow while it is read, so `size` is only an estimate. */
async function readBounded(handle: FileHandle, size: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let total = 0;
  for (let room = Math.min(size, MAX_TASK_BYTES) + 1; total <= MAX_TASK_BYTES; room = 65_536) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(room), 0, room, null);
    if (bytesRead === 0) return Buffer.concat(chunks, total);
    total += bytesRead;
    chunks.push(buffer.subarray(0, bytesRead));
  }
  throw new UnreadableTaskError(`is larger than ${MAX_TASK_BYTES} bytes`);
}

function absentOr(error: unknown): null {
  if (error instanceof UnreadableTaskError) throw error;
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
  if (code === 'ENOENT') return null;
  if (code === 'ELOOP') throw new UnreadableTaskError('is a symlink, and symlinks are not followed', { cause: error });
  if (code === 'EISDIR' || code === 'ENXIO') throw new UnreadableTaskError('is not a regular file', { cause: error });
  const reason = code === 'EACCES' || code === 'EPERM' ? 'may not be read by this user' : `cannot be read (${code})`;
  throw new UnreadableTaskError(reason, { cause: error });
}

/** Backlog.md's file names: `task-12.1 - Some-title.md`. */
const FILE_NAME = /^([a-z]+-[a-z0-9]+(?:[._-][a-z0-9]+)*)(?= -|\.md$)/i;
const ID_LINE = /^["']?id["']?[ \t]*:[ \t]*["']?([a-z]+-[a-z0-9]+(?:[._-][a-z0-9]+)*)/im;
/** The id is in the first lines; matches further down are text. */
const HEAD_CHARS = 4_096;

/** One form for all spellings of the same id: `task-1`, `TASK-01` and, with that prefix, `1` become `TASK-1`. */
export function canonicalId(written: string, prefix: string): string {
  const text = written.trim();
  const match = /^(?:([a-z]+)-)?(\d+(?:\.\d+)*)$/i.exec(text);
  if (!match) return text.toUpperCase();
  const numbers = (match[2] ?? '').split('.').map((digits) => digits.replace(/^0+(?=\d)/, ''));
  return `${(match[1] ?? prefix).toUpperCase()}-${numbers.join('.')}`;
}

/** The id in a file name; `null` for names that are not Backlog.md's. */
export function idInFileName(name: string): string | null {
  return FILE_NAME.exec(name)?.[1] ?? null;
}

/** The id in a text that is not a valid task, for example a half-written one. */
function idInBrokenText(text: string): string | null {
  return ID_LINE.exec(text.slice(0, HEAD_CHARS))?.[1] ?? null;
}
