import { existsSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { type FSWatcher, watch } from 'chokidar';
import type { WatchCallbacks } from '../../domain/ports.js';
import { CONFIG_NAMES, PLACES, ROOT_CONFIG_NAME } from './board.js';
import { isTaskName } from './task-files.js';

/** One save is several events, and a checkout is hundreds. */
const WINDOW_MS = 100;

export interface FolderWatch {
  close(): Promise<void>;
}

/**
 * Calls back after tasks or settings in the folder changed, once per burst. Folders are watched, never files: that costs a
 * handful of watches for thousands of tasks, and no watch is lost when a file is replaced. The way to the folder is
 * watched, too, so that it may come, go and come again.
 */
export async function watchFolder(target: string, { onChange, onError }: WatchCallbacks): Promise<FolderWatch> {
  const folder = realOrSame(target);
  const way = wayTo(folder);
  const places = Object.values(PLACES).map((name) => path.join(folder, name));
  const archivedTasks = path.join(folder, PLACES.archive, 'tasks');
  const watched = new Set([...way, folder, ...places, archivedTasks]);
  let timer: NodeJS.Timeout | null = null;
  const tell = () => {
    timer ??= setTimeout(() => {
      timer = null;
      onChange();
    }, WINDOW_MS).unref();
  };
  const matters = (inFolder: string, name: string): boolean => {
    if (places.includes(inFolder) || inFolder === archivedTasks) return isTaskName(name) || name === 'tasks';
    if (inFolder === folder) return places.includes(path.join(folder, name)) || CONFIG_NAMES.includes(name);
    return watched.has(path.join(inFolder, name)) || (inFolder === path.dirname(folder) && name === ROOT_CONFIG_NAME);
  };

  const watcher = watch(way[0] ?? folder, {
    ignoreInitial: true,
    followSymlinks: false,
    atomic: false,
    ignored: (candidate, stats) =>
      !watched.has(path.resolve(candidate)) || (stats !== undefined && !stats.isDirectory()),
  });
  watcher.on('all', (event) => {
    if (event === 'addDir' || event === 'unlinkDir') tell();
  });
  watcher.on('raw', (_event, name, details) => {
    const { watchedPath } = details as { readonly watchedPath?: string };
    if (watchedPath && matters(path.resolve(watchedPath), path.basename(name ?? ''))) tell();
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

/** The folders that lead to `folder`, from the nearest one that exists (and is left alone, one hopes) downwards. */
function wayTo(folder: string): string[] {
  const way = [path.dirname(folder)];
  while (!existsSync(way[0] as string)) way.unshift(path.dirname(way[0] as string));
  return way;
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

/** The real path of what is there; missing last parts are kept as they are. */
export function realOrSame(target: string): string {
  try {
    return realpathSync(target);
  } catch {
    const parent = path.dirname(target);
    return parent === target ? target : path.join(realOrSame(parent), path.basename(target));
  }
}
