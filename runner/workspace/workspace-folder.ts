import { randomUUID } from 'node:crypto';
import { chmod, lstat, mkdir, readdir, readFile, rename, rm, rmdir, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BatonError } from '../../src/domain/errors.js';
import type { WorkspaceOwner } from '../../src/domain/ports.js';
import type { DirectoryIdentity, FolderIdentity } from '../contain/process.js';
import { BOOKKEEPING_FOLDER } from './workspace-root.js';

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

interface Finding {
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

/** Who asks for a folder. */
interface Claimant {
  readonly scope: string;
  readonly issueId: string;
}

type Ownership =
  | { readonly kind: 'unrecorded' }
  | { readonly kind: 'ours' }
  | { readonly kind: 'other'; readonly owner: WorkspaceOwner };

/** Whose a folder is. The same id in another scope (another project, another tracker) is another issue. */
export function ownershipOf(key: string, claimant: Claimant, owners: readonly WorkspaceOwner[]): Ownership {
  const owner = owners.find((candidate) => candidate.key === key);
  if (owner === undefined) return { kind: 'unrecorded' };
  return isOwner(claimant, owner) ? { kind: 'ours' } : { kind: 'other', owner };
}

/** Records of other issues whose key differs from `key` only in case: on some disks they name the same folder. */
export function caseTwins(key: string, claimant: Claimant, owners: readonly WorkspaceOwner[]): WorkspaceOwner[] {
  return owners.filter(
    (owner) => owner.key !== key && owner.key.toLowerCase() === key.toLowerCase() && !isOwner(claimant, owner),
  );
}

/** The twin that really has the folder found under our key, if any: the disk does not tell the two names apart. */
export function clashingTwin(
  found: DirectoryIdentity | null,
  twins: readonly { readonly owner: WorkspaceOwner; readonly identity: DirectoryIdentity | null }[],
): WorkspaceOwner | null {
  return twins.find(({ identity }) => isSameDirectory(found, identity))?.owner ?? null;
}

export function isSameDirectory(one: DirectoryIdentity | null, other: DirectoryIdentity | null): boolean {
  return one !== null && other !== null && one.dev === other.dev && one.ino === other.ino;
}

export function isOwner(claimant: Claimant, owner: WorkspaceOwner): boolean {
  return owner.scope === claimant.scope && owner.issueId === claimant.issueId;
}

/**
 * The `.baton` folder beside the workspaces. `creating/<key>` says that a workspace is being made: it is written before the
 * folder exists and goes when `after_create` ended well, so whatever crash lies between leaves it behind. `trash/` takes folders
 * that are being deleted: moving is one step, deleting is not, and a half-deleted workspace must never be taken for a whole one.
 */
interface Bookkeeping {
  /** `null`: not being made. `identity: null`: the crash came before the folder was used at all. */
  creating(key: string): Promise<{ readonly identity: FolderIdentity | null } | null>;
  markCreating(key: string, identity: FolderIdentity | null): Promise<void>;
  clearCreating(key: string): Promise<void>;
  /** Moves a folder out of the way; `deleteTrash` of the answer does the rest. */
  toTrash(path: string, key: string): Promise<string>;
  /** What a crash left half deleted. */
  trash(): Promise<readonly string[]>;
}

export function createBookkeeping(root: string): Bookkeeping {
  const base = join(root, BOOKKEEPING_FOLDER);
  const folder = async (name: 'creating' | 'trash') => {
    await ensureFolder(base);
    await ensureFolder(join(base, name));
    return join(base, name);
  };
  return {
    async creating(key) {
      const text = await readFile(join(await folder('creating'), key), 'utf8').catch(ignoreMissing);
      return text === undefined ? null : { identity: parseIdentity(text) };
    },
    async markCreating(key, identity) {
      const path = join(await folder('creating'), key);
      await writeFile(path, identity === null ? '' : `${identity.dev} ${identity.ino} ${identity.bornMs}\n`, {
        mode: 0o600,
      });
    },
    async clearCreating(key) {
      await unlink(join(await folder('creating'), key)).catch(ignoreMissing);
    },
    async toTrash(path, key) {
      const target = join(await folder('trash'), `${key}.${randomUUID()}`);
      await rename(path, target);
      return target;
    },
    async trash() {
      const path = await folder('trash');
      return (await readdir(path)).map((name) => join(path, name));
    },
  };
}

/** Deletes a folder and what is in it. Symlinks are deleted, never followed. */
export async function deleteTrash(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EACCES' && code !== 'EPERM' && code !== 'ENAMETOOLONG') throw error;
    if ((await lstat(path)).isDirectory()) await makeDeletable(path, path);
    await rm(path, { recursive: true, force: true });
  }
}

/** Package caches make their folders read-only; the owner may change that. Folders too deep to be named are moved up. */
async function makeDeletable(path: string, top: string): Promise<void> {
  await chmod(path, 0o700);
  for (const entry of await readdir(path, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue;
    let folder = join(path, entry.name);
    if (folder.length - top.length > MAX_DEPTH_CHARACTERS) {
      await chmod(folder, 0o700); // to move a folder is to write its `..`
      const higher = join(top, randomUUID());
      await rename(folder, higher);
      folder = higher;
    }
    await makeDeletable(folder, top);
  }
}

const MAX_DEPTH_CHARACTERS = 1_000;

/** Not recursive, so that a symlink in its place is seen and not followed. */
async function ensureFolder(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  if (!(await lstat(path)).isDirectory()) {
    throw new BatonError(
      'workspace_failed',
      `${path} is not a directory: move it away, Baton keeps its own notes there`,
    );
  }
}

function parseIdentity(text: string): FolderIdentity | null {
  const match = /^(\d+) (\d+) ([\d.]+)\n$/.exec(text);
  return match === null ? null : { dev: Number(match[1]), ino: Number(match[2]), bornMs: Number(match[3]) };
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
  return undefined;
}
