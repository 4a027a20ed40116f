import { constants, existsSync } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir, readlink, realpath, rmdir, unlink } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { type Json, listOf } from '../../../../src/domain/json.js';
import { readUpTo } from '../definitions.js';
import { type ApiAction, type ApiModule, type ApiRequest, badRequest, optionalText, requiredText } from './api.js';
import { searchWorkspace } from './search.js';

const MAX_FILE_BYTES = 4 * 1024 * 1024;
const MAX_FILES = 100;
const MAX_FILES_BYTES = 8 * 1024 * 1024;

const readFile: ApiAction = async (request, { context }) => ({
  content: await readText(context.workspace, pathOf(request)),
});

const readManyFiles: ApiAction = async ({ fields }, { context }) => {
  const paths = listOf(fields.paths ?? fields.filePaths).filter((path) => typeof path === 'string');
  if (paths.length === 0 || paths.length > MAX_FILES)
    throw badRequest(`paths must be a list of 1 to ${MAX_FILES} files`);
  const files: Json[] = [];
  let total = 0;
  for (const path of paths) {
    const file = await readText(context.workspace, path).then(
      (content) => ({ path, success: true, content }),
      (error: Error) => ({ path, success: false, error: error.message, content: '' }),
    );
    total += Buffer.byteLength(file.content);
    if (total > MAX_FILES_BYTES) throw badRequest(`the files together are larger than ${MAX_FILES_BYTES} bytes`);
    files.push(file);
  }
  return { files };
};

const write =
  (create: boolean): ApiAction =>
  async (request, { context }) => {
    const content = request.fields.source ?? request.fields.newContent ?? request.fields.content ?? '';
    if (typeof content !== 'string') throw badRequest('the content of a file must be text');
    const path = pathOf(request);
    const file = await openToWrite(context.workspace, path, create);
    try {
      await file.truncate(0);
      await file.writeFile(content);
    } finally {
      await file.close();
    }
    return { path };
  };

const deleteFile: ApiAction = async (request, { context }) => {
  const path = pathOf(request);
  await inParent(context.workspace, path, false, (found) => unlink(found));
  return { path };
};

const deleteFolder: ApiAction = async (request, { context, signal }) => {
  const path = pathOf(request);
  await inParent(context.workspace, path, false, (found) => removeTree(found, signal));
  return { path };
};

/** Plain text, in contents and in names. A request with `regex` is one of an older client, and means a pattern. */
const searchFiles: ApiAction = async ({ fields }, session) => {
  const path = optionalText(fields, 'path', 'folderPath') ?? '.';
  const regex = optionalText(fields, 'regex');
  const pattern = regex ?? requiredText({ fields, text: null }, 'query', 'pattern');
  const { results, truncated } = await searchWorkspace({ mode: regex ? 'regex' : 'text', pattern, path }, session);
  return { results: results.map((match) => ({ ...match })), truncated };
};

const grepSearch: ApiAction = async (request, session) => {
  const pattern = requiredText(request, 'pattern', 'query', 'regex');
  const path = optionalText(request.fields, 'path', 'folderPath') ?? '.';
  const { results, truncated } = await searchWorkspace({ mode: 'regex', pattern, path }, session);
  return { results: results.map((match) => ({ ...match })), truncated };
};

async function readText(workspace: string, path: string): Promise<string> {
  const file = await openToRead(workspace, path);
  try {
    return await readUpTo(file, MAX_FILE_BYTES);
  } catch (error) {
    throw badRequest(`${path} ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    await file.close();
  }
}

/** One path; an older client names folder and file apart. */
function pathOf(request: ApiRequest): string {
  const { fields } = request;
  const name = optionalText(fields, 'fileName', 'filename', 'folderName', 'foldername');
  const folder = optionalText(fields, 'filePath', 'relPath', 'path', 'folderPath', 'folderpath');
  if (name !== null && folder !== null) return join(folder, name);
  return name ?? folder ?? requiredText(request, 'filePath');
}

export const FS_API: ApiModule = {
  module: 'fs',
  types: ['fsEvent'],
  actions: {
    readFile,
    readManyFiles,
    createFile: write(true),
    updateFile: write(false),
    deleteFile,
    deleteFolder,
    searchFiles,
    grepSearch,
  },
  // As the client of existing packages names them.
  aliases: { read_many_files: 'readManyFiles', grep_search: 'grepSearch', writeToFile: 'createFile' },
};

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
async function openToRead(workspace: string, written: string): Promise<FileHandle> {
  const real = await realInside(workspace, written);
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  return await inFolder(workspace, dirname(real), false, (folder) =>
    openFile(workspace, join(folder, basename(real)), flags, written),
  );
}

/** Opens a file for writing, without emptying it. A link in its place is refused. Throws. */
async function openToWrite(workspace: string, written: string, create: boolean): Promise<FileHandle> {
  const flags = constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | (create ? constants.O_CREAT : 0);
  return await inParent(workspace, written, create, (path) => openFile(workspace, path, flags, written));
}

/** Gives `work` a path to what is named, through a handle of the folder that it is in. The last part may be a link. Throws. */
async function inParent<T>(
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
function handlePath(handle: FileHandle, name: string): string {
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

const MAX_DEPTH = 200;

/**
 * Removes a folder with all that is in it. Links are removed, never followed: it goes by open handles. Gives up in the middle when
 * `signal` is aborted. Throws.
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
