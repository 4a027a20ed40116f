import { lstat, readdir } from 'node:fs/promises';
import { sep } from 'node:path';

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
  // Names are bytes: one that is no text would otherwise keep its workspace from ever being removed.
  let level: Buffer[] = [Buffer.from(workspace)];
  let looked = 0;
  for (let depth = 0; depth <= MAX_DEPTH; depth += 1) {
    const next: Buffer[] = [];
    for (const folder of level) {
      looked += 1;
      if (looked > MAX_FOLDERS) return { repositories, isComplete: false };
      if (await isRepository(folder)) repositories.push(asText(folder));
      next.push(...(await subfolders(folder)));
    }
    level = next;
  }
  return { repositories, isComplete: level.length === 0 };
}

async function subfolders(folder: Buffer): Promise<Buffer[]> {
  const entries = await readdir(folder, { withFileTypes: true, encoding: 'buffer' });
  return entries
    .filter((entry) => entry.isDirectory() && !SKIPPED.has(entry.name.toString()))
    .map(({ name }) => below(folder, name));
}

/** `.git` is a folder with a HEAD, or a file that points to one. A folder without is a clone that never began. */
async function isRepository(folder: Buffer): Promise<boolean> {
  const git = below(folder, '.git');
  const stats = await lstat(git).catch(nullIfMissing);
  if (stats?.isDirectory()) return (await lstat(below(git, 'HEAD')).catch(nullIfMissing)) !== null;
  return stats !== null;
}

function below(folder: Buffer, name: Buffer | string): Buffer {
  return Buffer.concat([folder, Buffer.from(sep), Buffer.from(name)]);
}

/** Scripts are told of a repository in a variable, which holds text. */
function asText(path: Buffer): string {
  const text = path.toString();
  if (Buffer.from(text).equals(path)) return text;
  throw new Error(`the name of the repository ${JSON.stringify(text)} is not valid UTF-8: rename its folder`);
}

/** A folder that cannot be looked into may hide work: that is an error, not "nothing there". */
function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}
