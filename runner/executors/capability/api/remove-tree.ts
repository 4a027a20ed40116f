import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readdir, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { badRequest } from './api.js';
import { handlePath } from './handle-path.js';

const MAX_DEPTH = 200;

/** Removes a folder with all that is in it. Links are removed, never followed: it goes by open handles. Throws. */
export async function removeTree(folder: string, depth = 0): Promise<void> {
  if (depth > MAX_DEPTH) throw badRequest(`folders are nested more than ${MAX_DEPTH} deep`);
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    await removeContent(handle, folder, depth);
  } finally {
    await handle.close();
  }
  await rmdir(folder);
}

async function removeContent(handle: FileHandle, folder: string, depth: number): Promise<void> {
  const inside = handlePath(handle, folder);
  for (const name of await readdir(inside)) {
    const path = join(inside, name);
    if ((await lstat(path)).isDirectory()) await removeTree(path, depth + 1);
    else await unlink(path);
  }
}
