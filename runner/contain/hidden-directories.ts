import { accessSync, constants, lstatSync, realpathSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { dirname, isAbsolute, sep } from 'node:path';
import { BatonError } from '../../src/domain/errors.js';
import type { FixedFolder, HiddenDirectory } from './process.js';

/** Rejects with the error of the file system when the directory cannot be read. */
export async function pinDirectory(path: string): Promise<HiddenDirectory> {
  return pin(path);
}

/** Synchronous, because each spawn pins some twenty folders. */
function pin(path: string): HiddenDirectory {
  const real = realpathSync.native(path);
  const { dev, ino } = lstatSync(real, { bigint: true });
  return { path: real, dev, ino };
}

/** Pins those that exist. A missing directory of another daemon holds nothing to hide. */
export async function pinExisting(paths: readonly string[]): Promise<readonly HiddenDirectory[]> {
  const pinned = [...new Set(paths)].flatMap((path) => unlessMissing(() => pin(path)) ?? []);
  return pinned.map((directory) => ({ ...directory, mayVanish: true }));
}

function unlessMissing<T>(act: () => T): T | null {
  try {
    return act();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error;
    return null;
  }
}

/**
 * The folders with the sockets of the user's services. A process that reaches them can have another one started outside of its namespace
 * (`systemd-run --user`, podman, tmux), or use keys (ssh agents, keyrings). `allowed`: variables that the workflow passes to agents by
 * name; each opens its folder.
 */
export async function pinServiceFolders(
  env: { readonly [name: string]: string | undefined },
  allowed: readonly string[],
): Promise<readonly HiddenDirectory[]> {
  const uid = process.geteuid?.();
  if (uid === undefined) return [];
  const { XDG_RUNTIME_DIR: runtime = '', TMUX_TMPDIR: tmux = '/tmp', SSH_AUTH_SOCK: agent = '' } = env;
  const isOpen = (...names: string[]) => names.some((name) => allowed.includes(name));
  const keys = dirname(agent);
  const folders = [
    ...(isOpen('XDG_RUNTIME_DIR', 'DBUS_SESSION_BUS_ADDRESS') ? [] : [`/run/user/${uid}`, runtime]),
    ...(isOpen('TMUX', 'TMUX_TMPDIR') ? [] : [`${tmux}/tmux-${uid}`]),
    ...(isOpen('SSH_AUTH_SOCK') || !(await holdsOnlySockets(keys)) ? [] : [keys]),
  ].filter(isAbsolute);
  const own = await Promise.all(folders.map(async (folder) => ((await isOwn(folder, uid)) ? [folder] : [])));
  return pinExisting(own.flat());
}

/** A shared folder such as /tmp cannot be hidden, and neither can one of another user, as `su` leaves it in XDG_RUNTIME_DIR. */
async function isOwn(folder: string, uid: number): Promise<boolean> {
  const found = await stat(folder).catch(() => null);
  return found?.isDirectory() === true && found.uid === uid && (found.mode & 0o022) === 0;
}

/** Other folders with the socket of an ssh agent, such as ~/.ssh, hold what agents may need. */
async function holdsOnlySockets(folder: string): Promise<boolean> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.length > 0 && entries.every((entry) => entry.isSocket());
}

/** The directories without those that lie inside another one: they are hidden with it, and their paths no longer exist then. */
export function outermost(directories: readonly HiddenDirectory[]): readonly HiddenDirectory[] {
  const byPath = new Map(directories.map((directory) => [directory.path, directory]));
  const all = [...byPath.values()];
  return all.filter(({ path }) => !all.some((other) => other.path !== path && isAtOrBelow(path, other.path)));
}

/**
 * The folders around hidden directories that this account could rename or remove, and with them what is hidden; the outermost first. A run
 * has a mount on each of them, because a mount point can be neither renamed nor removed. Those around the working directory belong to
 * them, so that hooks, which hide less, have the same mounts as agents: pnpm chooses its store by what it can link to.
 */
export async function foldersToFix(
  hidden: readonly HiddenDirectory[],
  workingFolder: string,
): Promise<readonly FixedFolder[]> {
  const real = unlessMissing(() => realpathSync.native(workingFolder));
  const paths = [...hidden.map(({ path }) => path), ...(real === null ? [] : [real])];
  const around = new Set(paths.flatMap(ancestors));
  return [...around].sort().flatMap((path) => unlessMissing(() => pinMovable(path)) ?? []);
}

/** Without `/`. Nothing in these file systems of the kernel can be renamed. */
function ancestors(path: string): string[] {
  const folder = dirname(path);
  return folder === sep || /^\/(?:proc|sys)(?:\/|$)/.test(folder) ? [] : [folder, ...ancestors(folder)];
}

function pinMovable(path: string): FixedFolder | null {
  const parent = dirname(path);
  const { dev, ino } = lstatSync(path, { bigint: true });
  // The owner of the parent may make it writable.
  const isMovable = lstatSync(parent).uid === process.geteuid?.() || isWritable(parent);
  return isMovable ? { path, dev, ino } : null;
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Throws `spawn_failed` when a folder that the process needs lies inside a directory that is to be hidden. */
export function checkNotHidden(
  folder: string,
  hide: readonly HiddenDirectory[],
  setting: 'workspace.root' | 'TMPDIR' = 'workspace.root',
): void {
  const around = hide.find(({ path }) => isAtOrBelow(folder, path));
  if (around === undefined) return;
  const message = `${folder} lies inside ${around.path}, which is hidden from runs; move ${setting} out of it`;
  throw new BatonError('spawn_failed', message, { folder, hidden: around.path });
}

export function isAtOrBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}
