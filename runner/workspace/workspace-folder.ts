import { lstatSync, mkdirSync } from 'node:fs';
import { rmdir } from 'node:fs/promises';
import { BatonError } from '../../src/domain/errors.js';
import type { DirectoryIdentity, FolderIdentity } from '../contain/process.js';
import type { Bookkeeping } from './bookkeeping.js';

export interface Workspace {
  readonly key: string;
  /** Absolute and real: no part of it is a symlink. */
  readonly path: string;
  readonly identity: FolderIdentity;
  /** `after_create` has not ended well yet. */
  readonly createdNow: boolean;
  /** The folder existed without an owner record. The run logs a warning. */
  readonly adopted: boolean;
}

interface FolderFacts {
  readonly key: string;
  readonly path: string;
  readonly found: FolderIdentity | null;
  readonly recorded: boolean;
}

/** Reuses, adopts or makes the folder of a workspace. Returns the half-made folder that it moved to the trash, if any. */
export async function settleFolder(bookkeeping: Bookkeeping, { key, path, found, recorded }: FolderFacts) {
  const creating = await bookkeeping.creating(key);
  if (found === null) return { workspace: await make(bookkeeping, key, path), trashed: null };
  if (creating === null) {
    return { workspace: { key, path, identity: found, createdNow: false, adopted: !recorded }, trashed: null };
  }
  // On a disk without birth times the folder stays: better than deleting the folder of a user.
  if (isSameDirectory(creating.identity, found) && creating.identity?.bornMs === found.bornMs) {
    const trashed = await bookkeeping.toTrash(path, key);
    return { workspace: await make(bookkeeping, key, path), trashed };
  }
  // The mark does not name this folder. A folder that Baton made and never used is empty; any other belongs to a user.
  if (creating.identity === null && (await isRemovedEmpty(path))) {
    return { workspace: await make(bookkeeping, key, path), trashed: null };
  }
  await bookkeeping.clearCreating(key);
  return { workspace: { key, path, identity: found, createdNow: false, adopted: true }, trashed: null };
}

async function make(bookkeeping: Bookkeeping, key: string, path: string): Promise<Workspace> {
  await bookkeeping.markCreating(key, null);
  mkdirSync(path, { mode: 0o700 });
  const identity = folderAt(path);
  if (identity === null) throw workspaceChanged(path);
  await bookkeeping.markCreating(key, identity);
  return { key, path, identity, createdNow: true, adopted: false };
}

async function isRemovedEmpty(path: string): Promise<boolean> {
  try {
    await rmdir(path);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOTEMPTY' || code === 'EEXIST') return false;
    throw error;
  }
}

/** The folder at `path`. Does not follow a symlink. Returns null when nothing is there. */
export function folderAt(path: string): FolderIdentity | null {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return null;
  if (stats.isDirectory()) return { dev: stats.dev, ino: stats.ino, bornMs: stats.birthtimeMs };
  throw new BatonError(
    'workspace_not_a_directory',
    `${path} is a ${stats.isSymbolicLink() ? 'symlink' : 'file'}, not a workspace: move it away, Baton does not touch it`,
  );
}

export function workspaceChanged(path: string, cause?: unknown): BatonError {
  return new BatonError(
    'workspace_changed',
    `workspace ${path} is gone or was replaced by another folder since it was prepared: find out who changes folders below workspace.root`,
    {},
    { cause },
  );
}

export function isSameDirectory(one: DirectoryIdentity | null, other: DirectoryIdentity | null): boolean {
  return one !== null && other !== null && one.dev === other.dev && one.ino === other.ino;
}
