import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

const MAX_DEPTH = 12;
const MAX_FOLDERS = 20_000;
const SKIPPED = new Set(['.git', 'node_modules']);

export interface FoundRepositories {
  readonly repositories: readonly string[];
  /** False when there were too many folders, or too deep ones, to look into all of them. */
  readonly isComplete: boolean;
}

/** Git repositories in a workspace: itself, and clones and submodules not too deep inside. Symlinks are not followed. */
export async function findRepositories(workspace: string): Promise<FoundRepositories> {
  const repositories: string[] = [];
  let level = [workspace];
  let looked = 0;
  for (let depth = 0; depth <= MAX_DEPTH; depth += 1) {
    const next: string[] = [];
    for (const folder of level) {
      looked += 1;
      if (looked > MAX_FOLDERS) return { repositories, isComplete: false };
      if (await isRepository(folder)) repositories.push(folder);
      next.push(...(await subfolders(folder)));
    }
    level = next;
  }
  return { repositories, isComplete: level.length === 0 };
}

async function subfolders(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory() && !SKIPPED.has(entry.name))
    .map(({ name }) => join(folder, name));
}

/** `.git` is a folder with a HEAD, or a file that points to one. A folder without is a clone that never began. */
async function isRepository(folder: string): Promise<boolean> {
  const git = join(folder, '.git');
  const stats = await lstat(git).catch(nullIfMissing);
  if (stats?.isDirectory()) return (await lstat(join(git, 'HEAD')).catch(nullIfMissing)) !== null;
  return stats !== null;
}

/** A folder that cannot be looked into may hide work: that is an error, not "nothing there". */
function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}
