import { lstat, mkdir, rmdir } from 'node:fs/promises';
import { BatonError } from '../../src/domain/errors.js';
import type { FolderIdentity } from '../contain/process.js';
import type { Bookkeeping } from '../workspace-bookkeeping.js';
import { isSameDirectory } from '../workspace-owner.js';

export interface Workspace {
  readonly key: string;
  /** Absolute and real: no part of it is a symlink. */
  readonly path: string;
  readonly identity: FolderIdentity;
  /** `after_create` is still to run, or to end well. */
  readonly createdNow: boolean;
  /** The folder was there and nobody had recorded it: worth a warning. */
  readonly adopted: boolean;
}

export interface Finding {
  readonly key: string;
  readonly path: string;
  readonly found: FolderIdentity | null;
  readonly recorded: boolean;
}

/** Turns what is on disk into a workspace: reused, adopted or made. */
export async function settleFolder(notes: Bookkeeping, { key, path, found, recorded }: Finding) {
  const creating = await notes.creating(key);
  if (found === null) return { workspace: await make(notes, key, path), trashed: null };
  if (creating === null) {
    return { workspace: { key, path, identity: found, createdNow: false, adopted: !recorded }, trashed: null };
  }
  // The time of birth tells nothing on a disk that keeps none, and then the folder stays: rather that than delete a person's.
  if (isSameDirectory(creating.identity, found) && creating.identity?.bornMs === found.bornMs) {
    const trashed = await notes.toTrash(path, key);
    return { workspace: await make(notes, key, path), trashed };
  }
  // The marker does not name this folder. If it is the one we made and never used, it is empty; else it is somebody's.
  if (creating.identity === null && (await isRemovedEmpty(path))) {
    return { workspace: await make(notes, key, path), trashed: null };
  }
  await notes.clearCreating(key);
  return { workspace: { key, path, identity: found, createdNow: false, adopted: true }, trashed: null };
}

async function make(notes: Bookkeeping, key: string, path: string): Promise<Workspace> {
  await notes.markCreating(key, null);
  await mkdir(path, { mode: 0o700 });
  const identity = await folderAt(path);
  if (identity === null) throw workspaceChanged(path);
  await notes.markCreating(key, identity);
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

/** The folder at `path` itself, never what a symlink there points to; `null` when there is nothing. */
export async function folderAt(path: string): Promise<FolderIdentity | null> {
  const stats = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return null;
  });
  if (stats === null) return null;
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
