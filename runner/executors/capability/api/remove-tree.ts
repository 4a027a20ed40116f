import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readdir, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { badRequest } from './api.js';
import { handlePath } from './confined-path.js';

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
