import { constants, existsSync } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir, readlink, realpath, rmdir, unlink } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { badRequest } from './api.js';

// Access to the files of the workspace only. A path is first resolved, links included, and must be inside. Then it is walked from the
// workspace, folder by folder through open handles, without following links, so that a folder that is swapped meanwhile cannot lead
// outside. Systems without /proc cannot walk through handles and have only the first check.

const MAX_PATH_CHARACTERS = 4_096;
const MAX_DEPTH = 200;
const HANDLES = '/proc/self/fd';
const canWalkHandles = existsSync(HANDLES);
const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** The real path of an existing file or folder. Throws when it is outside the workspace. */
export async function realInside(workspace: string, written: string): Promise<string> {
  return assertInside(workspace, await realpath(absoluteOf(workspace, written)), written);
}

/** Opens a file for reading. A link is followed when it leads to a file inside. The caller closes the handle. Throws. */
export async function openToRead(workspace: string, written: string): Promise<FileHandle> {
  const real = await realInside(workspace, written);
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const opened = inFolder(workspace, dirname(real), false, (folder) =>
    openFile(workspace, join(folder, basename(real)), flags, written),
  );
  return await opened.catch((error: unknown) => rethrow(error, written));
}

/** Opens a file for writing, without truncating it. Refuses a link. The caller closes the handle. Throws. */
export async function openToWrite(workspace: string, written: string, create: boolean): Promise<FileHandle> {
  const flags = constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | (create ? constants.O_CREAT : 0);
  return await inParent(workspace, written, create, (path) => openFile(workspace, path, flags, written));
}

/** Calls `work` with a path through an open handle of the parent folder. The last part of the path may be a link. Throws. */
export async function inParent<T>(
  workspace: string,
  written: string,
  create: boolean,
  work: (path: string) => Promise<T>,
): Promise<T> {
  const absolute = absoluteOf(workspace, written);
  if (absolute === workspace) throw badRequest('the path must not be the workspace itself');
  const { real, missing } = await nearestReal(dirname(absolute));
  assertInside(workspace, real, written);
  const name = basename(absolute);
  const done = inFolder(workspace, join(real, ...missing), create, (folder) => work(join(folder, name)));
  return await done.catch((error: unknown) => rethrow(error, written));
}

/** Errors of the system name the path through the handle. The caller knows the path as it wrote it. */
function rethrow(error: unknown, written: string): never {
  if (!(error instanceof Error) || !error.message.includes(HANDLES)) throw error;
  const message = error.message.replace(/\/proc\/self\/fd\/\d+(?:\/[^']*)?/g, () => written);
  throw Object.assign(new Error(message, { cause: error }), { code: (error as NodeJS.ErrnoException).code });
}

/** A path to the open file of a handle, even when it is renamed. Without /proc it is the name itself. */
function handlePath(handle: FileHandle, name: string): string {
  return canWalkHandles ? `${HANDLES}/${handle.fd}` : name;
}

function absoluteOf(workspace: string, written: string): string {
  if (written === '' || written.includes('\0') || written.length > MAX_PATH_CHARACTERS) {
    throw badRequest(`a path must be text of 1 to ${MAX_PATH_CHARACTERS} characters without NUL`);
  }
  return assertInside(workspace, resolve(workspace, written), written);
}

function assertInside(workspace: string, path: string, written: string): string {
  if (path !== workspace && !path.startsWith(workspace + sep)) {
    throw badRequest(`${written} leads out of the workspace`);
  }
  return path;
}

/** Splits a path into the real path of its nearest existing folder and the missing parts below it. */
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
      if (create) await mkdir(path).catch(ignoreExisting);
      const next = await open(path, FOLDER);
      await handle.close();
      handle = next;
    }
    return await work(handlePath(handle, path));
  } finally {
    await handle.close();
  }
}

/** Makes a folder. Returns false when it exists already. Throws, also for anything else of this name. */
export async function makeFolder(path: string, written: string): Promise<boolean> {
  try {
    await mkdir(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    if ((await lstat(path)).isDirectory()) return false;
    throw badRequest(`${written} exists and is not a folder`);
  }
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}

async function openFile(workspace: string, path: string, flags: number, written: string): Promise<FileHandle> {
  const file = await open(path, flags, 0o666);
  try {
    if (!(await file.stat()).isFile()) throw badRequest(`${written} is not a regular file`);
    // A folder that was moved outside during the walk takes its handle along.
    if (canWalkHandles) assertInside(workspace, await readlink(handlePath(file, path)), written);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * Removes a folder with its content, through open handles. Links are removed and never followed. Throws, also when `signal` is aborted
 * meanwhile.
 */
export async function removeTree(folder: string, signal: AbortSignal, depth = 0): Promise<void> {
  if (depth > MAX_DEPTH) throw badRequest(`folders are nested more than ${MAX_DEPTH} deep`);
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    await removeContent(handle, folder, signal, depth);
  } finally {
    await handle.close();
  }
  await rmdir(folder);
}

async function removeContent(handle: FileHandle, folder: string, signal: AbortSignal, depth: number): Promise<void> {
  const inside = handlePath(handle, folder);
  for (const name of await readdir(inside)) {
    if (signal.aborted) throw badRequest('the execution is over');
    const path = join(inside, name);
    if ((await lstat(path)).isDirectory()) await removeTree(path, signal, depth + 1);
    else await unlink(path);
  }
}
