import { accessSync, constants, type Dirent, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
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
 * all of it, and an account in a group some. Of a private folder only the folder itself is returned. Each folder is read synchronously,
 * which takes a third of the time.
 */
export async function privateEntries(folder: string): Promise<string[]> {
  await yieldToOthers();
  const found: string[] = [];
  for (const entry of entriesOf(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) found.push(...(isPrivate(path, constants.X_OK) ? [path] : await privateEntries(path)));
    else if (entry.isFile() && isPrivate(path, constants.R_OK)) found.push(path);
  }
  return found;
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

function isPrivate(path: string, right: number): boolean {
  try {
    if ((lstatSync(path).mode & right) !== 0) return false;
    accessSync(path, right);
    return true;
  } catch {
    return false;
  }
}
