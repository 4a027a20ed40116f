import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import path from 'node:path';

/**
 * Identifies this workflow in folders of the user: 12 hex digits of the SHA-256 of its path. Symlinks are resolved outside of its
 * repository only. A branch can make WORKFLOW.md or its folder a link. With another key, the next start would be the first one of a
 * workflow, whose content counts as allowed.
 */
export async function workflowKey(workflowPath: string): Promise<string> {
  const absolute = path.resolve(workflowPath);
  const root = repositoryOf(path.dirname(absolute));
  const real = path.join(await realOrSame(root), path.relative(root, absolute));
  return createHash('sha256').update(real).digest('hex').slice(0, 12);
}

/** The repository that contains the folder, else the folder itself: a checkout changes nothing outside of it. */
export function repositoryOf(dir: string): string {
  for (let folder = dir; ; folder = path.dirname(folder)) {
    if (existsSync(path.join(folder, '.git'))) return folder;
    if (path.dirname(folder) === folder) return dir;
  }
}

/** The real path. Missing last parts are kept. */
export async function realOrSame(target: string): Promise<string> {
  try {
    return await realpath(target);
  } catch {
    const parent = path.dirname(target);
    return parent === target ? target : path.join(await realOrSame(parent), path.basename(target));
  }
}
