import { mkdir, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

export interface NewFile {
  /** Relative to the folder. */
  readonly path: string;
  readonly text: string;
}

/** Creates all of the files or none: what is there already is never touched, and on a failure what was made goes again. */
export async function writeNew(dir: string, files: readonly NewFile[]): Promise<void> {
  const madeFiles: string[] = [];
  const madeFolders: string[] = [];
  try {
    for (const { path, text } of files) {
      const target = join(dir, path);
      const folder = dirname(target);
      const first = await mkdir(folder, { recursive: true });
      if (first !== undefined) madeFolders.push(...foldersUpTo(folder, first));
      await create(target, text);
      madeFiles.push(target);
    }
  } catch (error) {
    for (const file of madeFiles) await rm(file, { force: true });
    // Only empty ones go: somebody may have put something there meanwhile.
    for (const folder of madeFolders.sort((a, b) => b.length - a.length)) await rmdir(folder).catch(() => {});
    throw error;
  }
}

async function create(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text, { flag: 'wx' });
  } catch (error) {
    // On a full disk half of it is there, and it is ours.
    const isOurs = (error as NodeJS.ErrnoException).code === 'ENOSPC';
    if (isOurs) await rm(path, { force: true });
    throw error;
  }
}

function foldersUpTo(folder: string, first: string): string[] {
  return folder === first || dirname(folder) === folder ? [folder] : [folder, ...foldersUpTo(dirname(folder), first)];
}
