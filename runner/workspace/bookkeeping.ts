import { randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { chmod, lstat, open, readdir, rename, rm } from 'node:fs/promises';
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
 *
 * These small files are read and written synchronously: each asynchronous operation waits for a thread and for a turn of the loop, and a run
 * needs some fifty of them.
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
  const folder = (name: 'creating' | 'hooks' | 'owners' | 'trash') => {
    ensureFolder(base);
    ensureFolder(join(base, name));
    return join(base, name);
  };
  return {
    async folder() {
      ensureFolder(base);
      return base;
    },
    owner: async (key) => readOwner(owners, key),
    async owners() {
      const names = unlessMissing(() => readdirSync(owners)) ?? [];
      return names.flatMap(keyOfRecord).flatMap((key) => readOwner(owners, key) ?? []);
    },
    async putOwner({ key, ...owner }) {
      const path = folder('owners');
      // The next start empties the trash, so a kill leaves no draft.
      const draft = join(folder('trash'), `${key}.${randomUUID()}`);
      try {
        writeFileSync(draft, `${JSON.stringify(owner)}\n`, { mode: 0o600, flag: 'wx' });
        await flush(draft);
        renameSync(draft, join(path, key + RECORD_SUFFIX));
        await flush(path);
      } catch (error) {
        rmSync(draft, { force: true });
        throw error;
      }
    },
    async removeOwner(key) {
      unlessMissing(() => unlinkSync(join(folder('owners'), key + RECORD_SUFFIX)));
    },
    async creating(key) {
      const text = unlessMissing(() => readFileSync(join(folder('creating'), key), 'utf8'));
      return text === undefined ? null : { identity: parseIdentity(text) };
    },
    async markCreating(key, identity) {
      const path = join(folder('creating'), key);
      writeFileSync(path, identity === null ? '' : `${identity.dev} ${identity.ino} ${identity.bornMs}\n`, {
        mode: 0o600,
      });
    },
    async clearCreating(key) {
      unlessMissing(() => unlinkSync(join(folder('creating'), key)));
    },
    async toTrash(path, key) {
      const target = join(folder('trash'), `${key}.${randomUUID()}`);
      renameSync(path, target);
      return target;
    },
    async trash() {
      const path = folder('trash');
      return readdirSync(path).map((name) => join(path, name));
    },
    async hookFolder(name) {
      const path = join(folder('hooks'), name);
      await rm(path, { recursive: true, force: true });
      mkdirSync(path, { mode: 0o700 });
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
function readOwner(folder: string, key: string): WorkspaceOwner | null {
  const text = readSmallFile(join(folder, key + RECORD_SUFFIX));
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
function readSmallFile(path: string): string | null {
  let file: number;
  try {
    file = openSync(path, READ_PLAINLY);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ELOOP') throw error;
    return null;
  }
  try {
    const stats = fstatSync(file);
    return stats.isFile() && stats.size <= MAX_RECORD_BYTES ? readFileSync(file, 'utf8') : null;
  } finally {
    closeSync(file);
  }
}

/** Of a file or a folder. The only slow operation here, so it does not block. */
async function flush(path: string): Promise<void> {
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
function ensureFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  if (!lstatSync(path).isDirectory()) {
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

function unlessMissing<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return undefined;
  }
}
