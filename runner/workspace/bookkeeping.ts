import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, lstat, mkdir, open, readdir, readFile, rename, rm, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BatonError } from '../../src/domain/errors.js';
import { fieldsOf } from '../../src/domain/json.js';
import type { WorkspaceOwner } from '../../src/domain/ports.js';
import type { FolderIdentity } from '../contain/process.js';
import { BOOKKEEPING_FOLDER, isWorkspaceKey } from './workspace-path.js';

/**
 * The `.baton` folder beside the workspaces, which agents do not see. `owners/<key>.json` is the only record of the issue that a workspace
 * belongs to. It lies here and not in the store of the daemon, so that it survives the loss of the store. The mark `creating/<key>` means
 * that a workspace is being made: it is written before the folder exists and removed when `after_create` has ended well, so a crash in
 * between leaves it behind. Folders that are to be deleted are moved to `trash/` first: a move is atomic, so a half-deleted workspace never
 * looks like a whole one. `hooks/<name>` has the files that a running hook gets.
 */
export interface Bookkeeping {
  /** The path of `.baton`. Makes the folder when it is missing. */
  folder(): Promise<string>;
  /** Returns null without a readable record. On a disk that ignores case, AB-1 and ab-1 have one record, as they have one folder. */
  owner(key: string): Promise<WorkspaceOwner | null>;
  owners(): Promise<readonly WorkspaceOwner[]>;
  /** Resolves once the record is on disk. */
  putOwner(owner: WorkspaceOwner): Promise<void>;
  removeOwner(key: string): Promise<void>;
  /** Returns null when the workspace is not being made. `identity` is null when the crash came before the folder was used. */
  creating(key: string): Promise<{ readonly identity: FolderIdentity | null } | null>;
  markCreating(key: string, identity: FolderIdentity | null): Promise<void>;
  clearCreating(key: string): Promise<void>;
  /** Moves a folder to the trash and returns its new path, for `deleteTrash`. */
  toTrash(path: string, key: string): Promise<string>;
  /** The folders that a crash has left half deleted. */
  trash(): Promise<readonly string[]>;
  /** Makes `hooks/<name>`, new and empty. */
  hookFolder(name: string): Promise<string>;
  removeHookFolders(): Promise<void>;
}

export function createBookkeeping(root: string): Bookkeeping {
  const base = join(root, BOOKKEEPING_FOLDER);
  const owners = join(base, 'owners');
  const folder = async (name: 'creating' | 'hooks' | 'owners' | 'trash') => {
    await ensureFolder(base);
    await ensureFolder(join(base, name));
    return join(base, name);
  };
  return {
    async folder() {
      await ensureFolder(base);
      return base;
    },
    owner: (key) => readOwner(owners, key),
    async owners() {
      const names = (await readdir(owners).catch(ignoreMissing)) ?? [];
      const found: WorkspaceOwner[] = [];
      // One at a time: many at once would hold up every other file operation.
      for (const key of names.flatMap(keyOfRecord)) {
        const owner = await readOwner(owners, key);
        if (owner !== null) found.push(owner);
      }
      return found;
    },
    async putOwner({ key, ...owner }) {
      const path = await folder('owners');
      const draft = join(path, `${key}.${randomUUID()}`);
      try {
        await writeFile(draft, `${JSON.stringify(owner)}\n`, { mode: 0o600, flag: 'wx', flush: true });
        await rename(draft, join(path, key + RECORD_SUFFIX));
        await flushFolder(path);
      } catch (error) {
        await rm(draft, { force: true });
        throw error;
      }
    },
    async removeOwner(key) {
      await unlink(join(await folder('owners'), key + RECORD_SUFFIX)).catch(ignoreMissing);
    },
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
    async hookFolder(name) {
      const path = join(await folder('hooks'), name);
      await rm(path, { recursive: true, force: true });
      await mkdir(path, { mode: 0o700 });
      return path;
    },
    async removeHookFolders() {
      await rm(join(base, 'hooks'), { recursive: true, force: true });
    },
  };
}

const RECORD_SUFFIX = '.json';
const MAX_RECORD_BYTES = 1_048_576;
/** A link is not followed, and a named pipe does not block. */
const READ_PLAINLY = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

function keyOfRecord(fileName: string): string[] {
  const key = fileName.slice(0, -RECORD_SUFFIX.length);
  return fileName.endsWith(RECORD_SUFFIX) && isWorkspaceKey(key) ? [key] : [];
}

/** A record that is damaged counts as missing: then the folder is adopted, with a warning. */
async function readOwner(folder: string, key: string): Promise<WorkspaceOwner | null> {
  const text = await readSmallFile(join(folder, key + RECORD_SUFFIX));
  if (text === null) return null;
  try {
    const { scope, issueId, identifier } = fieldsOf(JSON.parse(text));
    if (typeof scope !== 'string' || typeof issueId !== 'string' || typeof identifier !== 'string') return null;
    return { key, scope, issueId, identifier };
  } catch {
    return null;
  }
}

/** Returns null for anything but a file of ordinary size. */
async function readSmallFile(path: string): Promise<string | null> {
  const handle = await open(path, READ_PLAINLY).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'ELOOP') throw error;
    return null;
  });
  if (handle === null) return null;
  try {
    const stats = await handle.stat();
    return stats.isFile() && stats.size <= MAX_RECORD_BYTES ? await handle.readFile('utf8') : null;
  } finally {
    await handle.close();
  }
}

async function flushFolder(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Deletes a folder with its content. Symlinks are deleted, never followed. */
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

/** Package caches make folders read-only; their owner may change that. Folders whose path is too long are moved up. */
async function makeDeletable(path: string, top: string): Promise<void> {
  await chmod(path, 0o700);
  for (const entry of await readdir(path, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue;
    let folder = join(path, entry.name);
    if (folder.length - top.length > MAX_DEPTH_CHARACTERS) {
      await chmod(folder, 0o700); // moving a folder writes its `..`
      const higher = join(top, randomUUID());
      await rename(folder, higher);
      folder = higher;
    }
    await makeDeletable(folder, top);
  }
}

const MAX_DEPTH_CHARACTERS = 1_000;

/** Not recursive, so that a symlink in its place is detected and not followed. */
async function ensureFolder(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  if (!(await lstat(path)).isDirectory()) {
    throw new BatonError(
      'workspace_failed',
      `${path} is not a directory: move it away, Baton keeps its own records there`,
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
