import { constants, existsSync } from 'node:fs';
import { type FileHandle, mkdir, open, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { badRequest } from './api.js';

/**
 * Files inside the workspace, and nowhere else. A path is resolved first, links included, and must lie inside; then it is walked
 * from the workspace on, folder by folder through open handles, without following links. Whatever is swapped meanwhile, the walk
 * does not leave; where handles cannot be walked through (no /proc) the check is all there is.
 */
const MAX_PATH_CHARACTERS = 4_096;
const HANDLES = '/proc/self/fd';
const canWalkHandles = existsSync(HANDLES);
const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** Real path of something that is there. Throws. */
export async function realInside(workspace: string, written: string): Promise<string> {
  return assertInside(workspace, await realpath(absoluteOf(workspace, written)), written);
}

/** Opens a file for reading; a link is followed where it stays inside. Whoever calls it closes it. Throws. */
export async function openToRead(workspace: string, written: string): Promise<FileHandle> {
  const real = await realInside(workspace, written);
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  return await inFolder(workspace, dirname(real), false, (folder) =>
    openFile(workspace, join(folder, basename(real)), flags, written),
  );
}

/** Opens a file for writing, without emptying it. A link in its place is refused. Throws. */
export async function openToWrite(workspace: string, written: string, create: boolean): Promise<FileHandle> {
  const flags = constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | (create ? constants.O_CREAT : 0);
  return await inParent(workspace, written, create, (path) => openFile(workspace, path, flags, written));
}

/** Gives `work` a path to what is named, through a handle of the folder that it is in. The last part may be a link. Throws. */
export async function inParent<T>(
  workspace: string,
  written: string,
  create: boolean,
  work: (path: string) => Promise<T>,
): Promise<T> {
  const absolute = absoluteOf(workspace, written);
  if (absolute === workspace) throw badRequest('the workspace itself cannot be named here');
  const { real, missing } = await nearestReal(dirname(absolute));
  assertInside(workspace, real, written);
  const name = basename(absolute);
  return await inFolder(workspace, join(real, ...missing), create, (folder) => work(join(folder, name)));
}

/** A path to what a handle has open, whatever becomes of its name; the name itself where there is no /proc. */
export function handlePath(handle: FileHandle, name: string): string {
  return canWalkHandles ? `${HANDLES}/${handle.fd}` : name;
}

function absoluteOf(workspace: string, written: string): string {
  if (written === '' || written.includes('\0') || written.length > MAX_PATH_CHARACTERS) {
    throw badRequest('a path must be text of a sensible length');
  }
  return assertInside(workspace, resolve(workspace, written), written);
}

function assertInside(workspace: string, path: string, written: string): string {
  if (path !== workspace && !path.startsWith(workspace + sep)) {
    throw badRequest(`${written} leads out of the workspace`);
  }
  return path;
}

/** What of a path is there, and what is not. */
async function nearestReal(path: string): Promise<{ real: string; missing: readonly string[] }> {
  const missing: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    try {
      return { real: await realpath(at), missing };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || at === dirname(at)) throw error;
      missing.unshift(basename(at));
    }
  }
}

async function inFolder<T>(
  workspace: string,
  folder: string,
  create: boolean,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  let path = workspace;
  let handle = await open(workspace, FOLDER);
  try {
    for (const name of relative(workspace, folder)
      .split(sep)
      .filter((part) => part !== '')) {
      path = join(handlePath(handle, path), name);
      if (create) await mkdir(path).catch(unlessThere);
      const next = await open(path, FOLDER);
      await handle.close();
      handle = next;
    }
    return await work(handlePath(handle, path));
  } finally {
    await handle.close();
  }
}

function unlessThere(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}

async function openFile(workspace: string, path: string, flags: number, written: string): Promise<FileHandle> {
  const file = await open(path, flags, 0o666);
  try {
    if (!(await file.stat()).isFile()) throw badRequest(`${written} is no regular file`);
    // A folder that was moved out while it was walked through takes its handle with it.
    if (canWalkHandles) assertInside(workspace, await readlink(handlePath(file, path)), written);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}
