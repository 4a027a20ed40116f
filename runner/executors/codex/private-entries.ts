import { access, constants, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type ToolchainVariables, toolchainLogins, toolchainRoots } from './toolchain-logins.js';

const REMEMBERED_MS = 60_000;
let remembered: { readonly key: string; readonly paths: Promise<string[]>; readonly untilMs: number } | null = null;

/**
 * What agents with this environment must not read of the system and of toolchains. Remembered for a minute: it takes some thousand file
 * operations, and many runs can start together.
 */
export function closedPaths(env: ToolchainVariables): Promise<string[]> {
  const nowMs = performance.now();
  const key = JSON.stringify(toolchainRoots(env));
  if (remembered?.key !== key || remembered.untilMs <= nowMs) {
    const both = Promise.all([privateEntries('/etc'), toolchainLogins(env)]);
    remembered = { key, paths: both.then((paths) => paths.flat()), untilMs: nowMs + REMEMBERED_MS };
  }
  return remembered.paths;
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
