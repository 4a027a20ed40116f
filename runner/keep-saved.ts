import { copyFile, lstat, mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { neutraliseJson } from '../src/text/neutralise.js';
import {
  BUNDLE_FILE,
  PARTIAL_PREFIX,
  PATCH_FILE,
  parseSavedName,
  RECORD_FILE,
  type SavedRecord,
  type SavedRepository,
} from './saved-record.js';

const DAY_MS = 86_400_000;

/** What the script wrote about one repository. */
export interface RepositoryFiles extends Pick<SavedRepository, 'path' | 'prefix' | 'head' | 'branch'> {
  /** Holds the files, if any were worth writing. */
  readonly folder: string;
}

/**
 * Copies everything worth keeping to disk for good, with a record of what it is, then gives it its name: a saved folder is
 * always whole. The folder, or `null` when there was nothing.
 */
export async function keepSaved(
  found: readonly RepositoryFiles[],
  about: Omit<SavedRecord, 'repositories'>,
  saveDir: string,
  name: string,
): Promise<string | null> {
  await mkdir(saveDir, { recursive: true, mode: 0o700 });
  const partial = join(saveDir, PARTIAL_PREFIX + name);
  await mkdir(partial, { mode: 0o700 });
  try {
    const repositories: SavedRepository[] = [];
    for (const { folder, ...facts } of found) {
      const bundle = await copy(join(folder, BUNDLE_FILE), join(partial, facts.prefix + BUNDLE_FILE));
      const patch = await copy(join(folder, PATCH_FILE), join(partial, facts.prefix + PATCH_FILE));
      if (bundle || patch) repositories.push({ ...facts, bundle, patch });
    }
    if (repositories.length === 0) return null;
    const record: SavedRecord = { ...about, repositories };
    await writeFile(join(partial, RECORD_FILE), `${neutraliseJson(JSON.stringify(record))}\n`, { flush: true });
    await flush(partial);
    const folder = join(saveDir, name);
    await rename(partial, folder);
    await flush(saveDir);
    return folder;
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}

/** Deletes what was saved more than `keepDays` days ago. */
export async function pruneSaved(saveDir: string, keepDays: number, nowMs: number): Promise<void> {
  for (const name of await namesIn(saveDir)) {
    const isOld = nowMs - (parseSavedName(name)?.savedAtMs ?? Number.NaN) > keepDays * DAY_MS;
    if (isOld) await rm(join(saveDir, name), { recursive: true, force: true });
  }
}

/** Deletes what a killed daemon left half copied. Its workspace was kept, and is saved again. Only while nobody saves. */
export async function removePartials(saveDir: string): Promise<void> {
  for (const name of await namesIn(saveDir)) {
    const isPartial = name.startsWith(PARTIAL_PREFIX) && parseSavedName(name) !== null;
    if (isPartial) await rm(join(saveDir, name), { recursive: true, force: true });
  }
}

function namesIn(saveDir: string): Promise<string[]> {
  return readdir(saveDir).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return [];
  });
}

/** False when there is nothing to copy. */
async function copy(from: string, to: string): Promise<boolean> {
  const stats = await lstat(from).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return null;
  });
  if (!stats?.isFile() || stats.size === 0) return false;
  await copyFile(from, to);
  await flush(to);
  return true;
}

async function flush(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
