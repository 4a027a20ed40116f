import { existsSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { type FSWatcher, watch } from 'chokidar';
import type { WatchCallbacks } from '../../domain/ports.js';
import { CONFIG_NAMES, FOLDERS, ROOT_CONFIG_NAME } from './board.js';
import { isTaskName } from './task-files.js';

/** A save causes several events, a checkout hundreds. */
const WINDOW_MS = 100;

export interface FolderWatch {
  close(): Promise<void>;
}

/**
 * Calls back after tasks or settings in the folder changed, once per burst. Watches folders, never files: that needs few watches
 * for thousands of tasks, and none is lost when a file is replaced. The parent folders are watched as well, so that the folder
 * may be created, removed and created again.
 */
export async function watchFolder(target: string, { onChange, onError }: WatchCallbacks): Promise<FolderWatch> {
  const folder = realPathOf(target);
  const parents = parentsOf(folder);
  const taskFolders = Object.values(FOLDERS).map((name) => path.join(folder, name));
  const archivedTasks = path.join(folder, FOLDERS.archive, 'tasks');
  const watched = new Set([...parents, folder, ...taskFolders, archivedTasks]);
  let timer: NodeJS.Timeout | null = null;
  const notify = () => {
    timer ??= setTimeout(() => {
      timer = null;
      onChange();
    }, WINDOW_MS).unref();
  };
  const matters = (inFolder: string, name: string): boolean => {
    if (taskFolders.includes(inFolder) || inFolder === archivedTasks) return isTaskName(name) || name === 'tasks';
    if (inFolder === folder) return taskFolders.includes(path.join(folder, name)) || CONFIG_NAMES.includes(name);
    return watched.has(path.join(inFolder, name)) || (inFolder === path.dirname(folder) && name === ROOT_CONFIG_NAME);
  };

  const watcher = watch(parents[0] ?? folder, {
    ignoreInitial: true,
    followSymlinks: false,
    atomic: false,
    ignored: (candidate, stats) =>
      !watched.has(path.resolve(candidate)) || (stats !== undefined && !stats.isDirectory()),
  });
  watcher.on('all', (event) => {
    if (event === 'addDir' || event === 'unlinkDir') notify();
  });
  watcher.on('raw', (_event, name, details) => {
    const { watchedPath } = details as { readonly watchedPath?: string };
    if (watchedPath && matters(path.resolve(watchedPath), path.basename(name ?? ''))) notify();
  });
  await isReady(watcher, onError);
  return {
    async close() {
      if (timer) clearTimeout(timer);
      await watcher.close();
      if (timer) clearTimeout(timer);
    },
  };
}

/** The parent folders of `folder`, from the nearest existing one downwards. */
function parentsOf(folder: string): string[] {
  const parents = [path.dirname(folder)];
  while (!existsSync(parents[0] as string)) parents.unshift(path.dirname(parents[0] as string));
  return parents;
}

function isReady(watcher: FSWatcher, onError: WatchCallbacks['onError']): Promise<void> {
  return new Promise((resolve) => {
    watcher.on('ready', () => resolve());
    watcher.on('error', (error) => {
      onError(error instanceof Error ? error : new Error(String(error)));
      resolve();
    });
  });
}

/** The real path of the existing part, with the missing rest appended. */
export function realPathOf(target: string): string {
  try {
    return realpathSync(target);
  } catch {
    const parent = path.dirname(target);
    return parent === target ? target : path.join(realPathOf(parent), path.basename(target));
  }
}
