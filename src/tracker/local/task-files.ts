import { type BigIntStats, lstatSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Issue } from '../../domain/issue.js';
import { normaliseIssue } from '../normalise-issue.js';
import { parseTask, type Task } from './parse-task.js';
import { decodeTask, type FileStats, readTaskFile } from './read-task-file.js';
import { idInBrokenText } from './task-id.js';
import { TaskUnreadable } from './task-unreadable.js';

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
