import { access, constants, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

const REMEMBERED_MS = 60_000;
let remembered: { readonly entries: Promise<string[]>; readonly untilMs: number } | null = null;

/** Those of /etc. Remembered for a minute, because runs that start together would each read some thousand entries. */
export function privateSystemEntries(): Promise<string[]> {
  const nowMs = performance.now();
  if (remembered === null || remembered.untilMs <= nowMs)
    remembered = { entries: privateEntries('/etc'), untilMs: nowMs + REMEMBERED_MS };
  return remembered.entries;
}

/**
 * What this account can read below a folder of the system and not everyone can: keys of services, passwords of databases. Root can read
 * all of it, and an account in a group some. Of a private folder only the folder itself is returned.
 */
export async function privateEntries(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const found = entries.map(async (entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return (await isPrivate(path, constants.X_OK)) ? [path] : privateEntries(path);
    return entry.isFile() && (await isPrivate(path, constants.R_OK)) ? [path] : [];
  });
  return (await Promise.all(found)).flat();
}

async function isPrivate(path: string, right: number): Promise<boolean> {
  const stats = await lstat(path).catch(() => null);
  if (stats === null || (stats.mode & right) !== 0) return false;
  return access(path, right).then(
    () => true,
    () => false,
  );
}
