import { readdir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { isMap, isScalar, isSeq } from 'yaml';
import { BatonError } from '../../domain/errors.js';
import type { Issue } from '../../domain/issue.js';
import { parseShallowYaml } from './parse-task.js';
import { TaskUnreadable } from './sections.js';
import {
  canonicalId,
  decodeTask,
  idInFileName,
  isTaskName,
  readTaskFile,
  type TaskFile,
  TaskFiles,
} from './task-files.js';

/** One look at the whole folder. */
export interface Board {
  readonly config: BacklogConfig;
  /** By canonical id; more than one when several files claim it. */
  readonly cards: ReadonlyMap<string, readonly Card[]>;
  readonly broken: BrokenCards;
  /** Paths below `archive/`, by the canonical id that their names tell. */
  readonly archived: ReadonlyMap<string, readonly string[]>;
  readonly problems: readonly string[];
}

export interface Card {
  readonly id: string;
  readonly path: string;
  readonly isCompleted: boolean;
  readonly task: NonNullable<TaskFile['task']>;
  /** What its file alone tells. */
  readonly issue: Issue;
  /** Canonical ids of what it depends on. */
  readonly needs: readonly string[];
}

/** Files that cannot be read. */
interface BrokenCards {
  readonly paths: ReadonlySet<string>;
  /** The ids that these may be, as far as names and texts tell. */
  readonly ids: ReadonlySet<string>;
  /** Those that may be any. */
  readonly nameless: readonly string[];
}

export const PLACES = { tasks: 'tasks', completed: 'completed', archive: 'archive' } as const;

/** Looks at the backlog in one folder, again and again. */
export class BoardReader {
  readonly #files = new TaskFiles();

  constructor(readonly folder: string) {}

  /** Throws `BatonError` `tracker_request` when the folder cannot be read as a backlog. */
  async read(signal: AbortSignal): Promise<Board> {
    const config = await readBacklogConfig(this.folder);
    const tasks = await this.#place(PLACES.tasks, signal);
    const completed = await this.#place(PLACES.completed, signal);
    if (!tasks && !completed && !config.isPresent) await this.#throwNoBacklog();
    if (signal.aborted) throw new BatonError('tracker_request', `The reading of ${this.folder} was given up.`);
    const files = [...(tasks ?? []), ...(completed ?? [])];
    const cards = cardsOf(files, new Set(completed), config.prefix);
    const broken = files.filter((file) => file.task === null);
    return {
      config,
      cards,
      broken: brokenCards(broken, config.prefix),
      archived: await this.#archived(config.prefix),
      problems: [
        ...(config.problem === null ? [] : [config.problem]),
        ...broken.map(({ problem }) => problem),
        ...doubles(cards),
      ],
    };
  }

  /** `null` when the folder of that name does not exist: git keeps no empty folders. */
  async #place(name: string, signal: AbortSignal): Promise<TaskFile[] | null> {
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

  /** A folder of tasks that lies elsewhere would let whoever made the link choose what is read and written. */
  async #assertInside(folder: string): Promise<void> {
    const [home, place] = await Promise.all([realpath(this.folder), realpath(folder)]);
    if (place === path.join(home, path.basename(folder))) return;
    const message = `${folder} is a symlink, and symlinks are not followed. Let tracker.provider.path name the folder it leads to.`;
    throw new BatonError('tracker_request', message);
  }

  async #archived(prefix: string): Promise<ReadonlyMap<string, readonly string[]>> {
    const found = new Map<string, string[]>();
    const root = path.join(this.folder, PLACES.archive);
    // What cannot be listed, or lies elsewhere (a link to / would be all of the disk), proves nothing gone.
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
    const message = `${this.folder} is no backlog: it has neither a folder "tasks" nor a config.yml. ${ADVICE}`;
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

function cardsOf(files: readonly TaskFile[], completed: ReadonlySet<TaskFile>, prefix: string): Map<string, Card[]> {
  const cards = new Map<string, Card[]>();
  for (const file of files) {
    if (file.task === null) continue;
    const { path, task, issue } = file;
    const id = canonicalId(task.id, prefix);
    const needs = task.dependencies.map((written) => canonicalId(written, prefix));
    push(cards, id, { id, path, isCompleted: completed.has(file), task, issue, needs });
  }
  return cards;
}

function push<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}

function brokenCards(files: readonly Extract<TaskFile, { task: null }>[], prefix: string): BrokenCards {
  const ids = new Set<string>();
  const nameless: string[] = [];
  for (const { path, name, hint } of files) {
    const told = [idInFileName(name), hint].filter((id) => id !== null);
    for (const id of told) ids.add(canonicalId(id, prefix));
    if (told.length === 0) nameless.push(path);
  }
  return { paths: new Set(files.map((file) => file.path)), ids, nameless };
}

/** So many of the others are named. */
const MAX_NAMED = 5;

function doubles(cards: ReadonlyMap<string, readonly Card[]>): string[] {
  return [...cards.values()]
    .filter((same) => same.length > 1)
    .map(([first, ...others]) => {
      const named = others.slice(0, MAX_NAMED).map((card) => card.path);
      const rest = others.length > MAX_NAMED ? [...named, `${others.length - MAX_NAMED} more`] : named;
      return `${first?.path}: has the id ${first?.task.id}, and so has ${rest.join(', ')}. Give one of them another id; until then none of them is worked on.`;
    });
}

/** What of Backlog.md's own settings matters here. */
interface BacklogConfig {
  readonly statuses: readonly string[];
  readonly prefix: string;
  /** Why the settings are not those of the file. */
  readonly problem: string | null;
  readonly isPresent: boolean;
}

export const CONFIG_NAMES: readonly string[] = ['config.yml', 'config.yaml'];
/** Instead of a file in the folder, Backlog.md may keep its settings beside it. */
export const ROOT_CONFIG_NAME = 'backlog.config.yml';
/** It is parsed at every poll, and nothing else runs meanwhile. */
const MAX_CHARS = 16_384;
const MAX_STATUSES = 100;
const MAX_STATUS_CHARS = 100;
const DEFAULTS = { statuses: ['To Do', 'In Progress', 'Done'], prefix: 'TASK' };

/** The settings of the backlog in `folder`; the defaults of Backlog.md where they are missing or make no sense. */
async function readBacklogConfig(folder: string): Promise<BacklogConfig> {
  const places = [
    path.join(path.dirname(folder), ROOT_CONFIG_NAME),
    ...CONFIG_NAMES.map((name) => path.join(folder, name)),
  ];
  for (const place of places) {
    try {
      const file = await readTaskFile(place);
      if (!file) continue;
      return { ...parseConfig(decodeTask(file.bytes)), problem: null, isPresent: true };
    } catch (error) {
      if (!(error instanceof TaskUnreadable)) throw error;
      const problem = `${place}: ${error.message}, so the statuses are taken to be ${DEFAULTS.statuses.join(', ')}. Fix it.`;
      return { ...DEFAULTS, problem, isPresent: true };
    }
  }
  return { ...DEFAULTS, problem: null, isPresent: false };
}

/** Only the two values are looked at: aliases are not expanded. Throws `TaskUnreadable`. */
function parseConfig(text: string): Pick<BacklogConfig, 'statuses' | 'prefix'> {
  if (text.length > MAX_CHARS) throw new TaskUnreadable(`has more than ${MAX_CHARS} characters`);
  const { contents, errors } = parseShallowYaml(text);
  if (errors.length > 0 || (contents !== null && !isMap(contents))) throw new TaskUnreadable('is not valid YAML');
  const node = (key: string): unknown => (isMap(contents) ? contents.get(key, true) : undefined);
  const statuses = node('statuses');
  const names = isSeq(statuses) ? statuses.items.map(textOf).filter((name) => name !== '') : [];
  // Each agent is told all of them.
  if (names.length > MAX_STATUSES || names.some((name) => name.length > MAX_STATUS_CHARS)) {
    throw new TaskUnreadable(`has more than ${MAX_STATUSES} statuses, or one of over ${MAX_STATUS_CHARS} characters`);
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
