import { lstat, realpath } from 'node:fs/promises';
import { sep } from 'node:path';
import { BatonError } from '../../src/domain/errors.js';
import type { HiddenDirectory } from './process.js';

/** Rejects with the error of the file system when the directory cannot be read. */
export async function pinDirectory(path: string): Promise<HiddenDirectory> {
  const real = await realpath(path);
  const { dev, ino } = await lstat(real, { bigint: true });
  return { path: real, dev, ino };
}

/** Pins those that exist. A missing directory of another daemon holds nothing to hide. */
export async function pinExisting(paths: readonly string[]): Promise<readonly HiddenDirectory[]> {
  const pinned = await Promise.all([...new Set(paths)].map((path) => pinDirectory(path).catch(ignoreMissing)));
  return pinned.filter((directory) => directory !== null).map((directory) => ({ ...directory, mayVanish: true }));
}

function ignoreMissing(error: NodeJS.ErrnoException): null {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
  return null;
}

/** The directories without those that lie inside another one: they are hidden with it, and their paths no longer exist then. */
export function outermost(directories: readonly HiddenDirectory[]): readonly HiddenDirectory[] {
  const byPath = new Map(directories.map((directory) => [directory.path, directory]));
  const all = [...byPath.values()];
  return all.filter(({ path }) => !all.some((other) => other.path !== path && isAtOrBelow(path, other.path)));
}

/** Throws `spawn_failed` when the working directory lies inside a directory that is to be hidden. */
export function checkNotHidden(cwd: string, hide: readonly HiddenDirectory[]): void {
  const around = hide.find(({ path }) => isAtOrBelow(cwd, path));
  if (around === undefined) return;
  const message = `${cwd} lies inside ${around.path}, which is hidden from every run; move workspace.root out of it`;
  throw new BatonError('spawn_failed', message, { cwd, hidden: around.path });
}

export function isAtOrBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}
