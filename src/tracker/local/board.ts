import { readdir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { isMap, isScalar, isSeq } from 'yaml';
import { BatonError } from '../../domain/errors.js';
import type { Issue } from '../../domain/issue.js';
import { parseShallowYaml } from './parse-task.js';
import { UnreadableTaskError } from './sections.js';
import {
  canonicalId,
  decodeTask,
  idInFileName,
  isTaskName,
  readTaskFile,
  type TaskFile,
  TaskFiles,
} from './task-files.js';

/** The whole folder at one moment. */
export interface Board {
  readonly config: BacklogConfig;
  /** By canonical id. Several files may have the same id. */
  readonly entries: ReadonlyMap<string, readonly BoardEntry[]>;
  readonly broken: BrokenFiles;
  /** Paths below `archive/`, by the canonical id in their names. */
  readonly archived: ReadonlyMap<string, readonly string[]>;
  readonly problems: readonly string[];
}

export interface BoardEntry {
  readonly id: string;
  readonly path: string;
  readonly isCompleted: boolean;
  readonly task: NonNullable<TaskFile['task']>;
  /** Only the data of its file; its folder and other files decide state and blockers. */
  readonly issue: Issue;
  /** Canonical ids of its dependencies. */
  readonly needs: readonly string[];
}

/** Files that are not valid tasks. */
interface BrokenFiles {
  readonly paths: ReadonlySet<string>;
  /** The ids in their names or texts. */
  readonly ids: ReadonlySet<string>;
  /** The paths of files without an id, which may belong to any issue. */
  readonly withoutId: readonly string[];
}

export const FOLDERS = { tasks: 'tasks', completed: 'completed', archive: 'archive' } as const;

/** Reads the backlog in one folder. */
export class BoardReader {
  readonly #files = new TaskFiles();

  constructor(readonly folder: string) {}

  /** Throws `BatonError` `tracker_request` when the folder cannot be read as a backlog. */
  async read(signal: AbortSignal): Promise<Board> {
    const config = await readBacklogConfig(this.folder);
    const tasks = await this.#readFolder(FOLDERS.tasks, signal);
    const completed = await this.#readFolder(FOLDERS.completed, signal);
    if (!tasks && !completed && !config.isPresent) await this.#throwNoBacklog();
    if (signal.aborted) throw new BatonError('tracker_request', `The read of ${this.folder} was cancelled.`);
    const files = [...(tasks ?? []), ...(completed ?? [])];
    const entries = entriesOf(files, new Set(completed), config.prefix);
    const broken = files.filter((file) => file.task === null);
    return {
      config,
      entries,
      broken: brokenFiles(broken, config.prefix),
      archived: await this.#archived(config.prefix),
      problems: [
        ...(config.problem === null ? [] : [config.problem]),
        ...broken.map(({ problem }) => problem),
        ...duplicateProblems(entries),
      ],
    };
  }

  /** Returns null when the folder does not exist: git keeps no empty folders. */
  async #readFolder(name: string, signal: AbortSignal): Promise<TaskFile[] | null> {
    const folder = path.join(this.folder, name);
    try {
      await this.#assertInside(folder);
      return await this.#files.read(folder, signal);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === 'ENOENT') return null;
      throw error instanceof BatonError ? error : unreadable(folder, error);
    }
  }

  /** A linked folder would let the author of the link choose what Baton reads and writes. */
  async #assertInside(folder: string): Promise<void> {
    const [home, target] = await Promise.all([realpath(this.folder), realpath(folder)]);
    if (target === path.join(home, path.basename(folder))) return;
    const message = `${folder} is a symlink, and symlinks are not followed. Let tracker.provider.path name the folder it leads to.`;
    throw new BatonError('tracker_request', message);
  }

  async #archived(prefix: string): Promise<ReadonlyMap<string, readonly string[]>> {
    const found = new Map<string, string[]>();
    const root = path.join(this.folder, FOLDERS.archive);
    // A linked archive (a link to / would be the whole disk) and an unreadable one prove nothing gone.
    const entries = await this.#assertInside(root)
      .then(() => readdir(root, { recursive: true, withFileTypes: true }))
      .catch(() => []);
    for (const { parentPath, name } of entries) {
      const written = isTaskName(name) ? idInFileName(name) : null;
      if (written === null) continue;
      const id = canonicalId(written, prefix);
      push(found, id, path.join(parentPath, name));
    }
    return found;
  }

  async #throwNoBacklog(): Promise<never> {
    await stat(this.folder).catch((error: unknown) => {
      throw unreadable(this.folder, error);
    });
    const message = `${this.folder} is not a backlog: it has neither a folder "tasks" nor a config.yml. ${ADVICE}`;
    throw new BatonError('tracker_request', message);
  }
}

const ADVICE = 'Run `baton init`, or let tracker.provider.path name the right folder.';

function unreadable(folder: string, error: unknown): BatonError {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
  const reasons: { readonly [code: string]: string } = {
    ENOENT: 'does not exist',
    ENOTDIR: 'is not a folder',
    EACCES: 'may not be read by this user',
    EPERM: 'may not be read by this user',
  };
  const message = `${folder} ${reasons[code] ?? `cannot be read (${code})`}. ${ADVICE}`;
  return new BatonError('tracker_request', message, { code }, { cause: error });
}

function entriesOf(
  files: readonly TaskFile[],
  completed: ReadonlySet<TaskFile>,
  prefix: string,
): Map<string, BoardEntry[]> {
  const entries = new Map<string, BoardEntry[]>();
  for (const file of files) {
    if (file.task === null) continue;
    const { path, task, issue } = file;
    const id = canonicalId(task.id, prefix);
    const needs = task.dependencies.map((written) => canonicalId(written, prefix));
    push(entries, id, { id, path, isCompleted: completed.has(file), task, issue, needs });
  }
  return entries;
}

function push<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}

function brokenFiles(files: readonly Extract<TaskFile, { task: null }>[], prefix: string): BrokenFiles {
  const ids = new Set<string>();
  const withoutId: string[] = [];
  for (const { path, name, hint } of files) {
    const candidates = [idInFileName(name), hint].filter((id) => id !== null);
    for (const id of candidates) ids.add(canonicalId(id, prefix));
    if (candidates.length === 0) withoutId.push(path);
  }
  return { paths: new Set(files.map((file) => file.path)), ids, withoutId };
}

const MAX_NAMED = 5;

function duplicateProblems(entries: ReadonlyMap<string, readonly BoardEntry[]>): string[] {
  return [...entries.values()]
    .filter((same) => same.length > 1)
    .map(([first, ...others]) => {
      const named = others.slice(0, MAX_NAMED).map((entry) => entry.path);
      const all = others.length > MAX_NAMED ? [...named, `${others.length - MAX_NAMED} more`] : named;
      return `${first?.path}: has the id ${first?.task.id}, and so has ${all.join(', ')}. Give one of them another id; until then none of them is worked on.`;
    });
}

/** The settings of Backlog.md that Baton uses. */
interface BacklogConfig {
  readonly statuses: readonly string[];
  readonly prefix: string;
  /** Why the file could not be used. */
  readonly problem: string | null;
  readonly isPresent: boolean;
}

export const CONFIG_NAMES: readonly string[] = ['config.yml', 'config.yaml'];
/** Backlog.md may keep its settings beside the folder. */
export const ROOT_CONFIG_NAME = 'backlog.config.yml';
/** Limits the time to parse it, at every poll. */
const MAX_CHARS = 16_384;
const MAX_STATUSES = 100;
const MAX_STATUS_CHARS = 100;
const DEFAULTS = { statuses: ['To Do', 'In Progress', 'Done'], prefix: 'TASK' };

/** The settings of the backlog in `folder`; the defaults of Backlog.md when the file is missing or invalid. */
async function readBacklogConfig(folder: string): Promise<BacklogConfig> {
  const paths = [
    path.join(path.dirname(folder), ROOT_CONFIG_NAME),
    ...CONFIG_NAMES.map((name) => path.join(folder, name)),
  ];
  for (const file of paths) {
    try {
      const found = await readTaskFile(file);
      if (!found) continue;
      return { ...parseConfig(decodeTask(found.bytes)), problem: null, isPresent: true };
    } catch (error) {
      if (!(error instanceof UnreadableTaskError)) throw error;
      const problem = `${file}: ${error.message}. Until then the statuses are ${DEFAULTS.statuses.join(', ')}. Fix it.`;
      return { ...DEFAULTS, problem, isPresent: true };
    }
  }
  return { ...DEFAULTS, problem: null, isPresent: false };
}

/** Does not expand aliases. Throws `UnreadableTaskError`. */
function parseConfig(text: string): Pick<BacklogConfig, 'statuses' | 'prefix'> {
  if (text.length > MAX_CHARS) throw new UnreadableTaskError(`has more than ${MAX_CHARS} characters`);
  const { contents, errors } = parseShallowYaml(text);
  if (errors.length > 0 || (contents !== null && !isMap(contents))) throw new UnreadableTaskError('is not valid YAML');
  const node = (key: string): unknown => (isMap(contents) ? contents.get(key, true) : undefined);
  const statuses = node('statuses');
  const names = isSeq(statuses) ? statuses.items.map(textOf).filter((name) => name !== '') : [];
  // Each agent gets the whole list.
  if (names.length > MAX_STATUSES || names.some((name) => name.length > MAX_STATUS_CHARS)) {
    throw new UnreadableTaskError(
      `has more than ${MAX_STATUSES} statuses, or one of over ${MAX_STATUS_CHARS} characters`,
    );
  }
  const prefix = textOf(node('task_prefix'));
  return {
    statuses: names.length > 0 ? names : DEFAULTS.statuses,
    prefix: /^[a-z]+$/i.test(prefix) ? prefix : DEFAULTS.prefix,
  };
}

function textOf(node: unknown): string {
  return isScalar(node) && node.value !== null ? String(node.value).trim() : '';
}
