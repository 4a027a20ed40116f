import { copyFile, lstat, mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { DAY_MS } from '../../src/domain/clock.js';
import { neutraliseJson } from '../../src/text/neutralise.js';

/** The files that the script wrote about one repository. */
export interface RepositoryFiles extends Pick<SavedRepository, 'path' | 'prefix' | 'head' | 'branch'> {
  /** Contains the bundle and the patch, unless there was nothing to save. */
  readonly folder: string;
}

/**
 * Copies the saved files into the state directory with a record of them. The folder gets its name last, so a saved folder is always
 * complete. Returns the folder, or null when there was nothing to save.
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

/** Deletes work that was saved more than `keepDays` days ago. */
export async function pruneSaved(saveDir: string, keepDays: number, nowMs: number): Promise<void> {
  for (const name of await namesIn(saveDir)) {
    const isOld = nowMs - (parseSavedName(name)?.savedAtMs ?? Number.NaN) > keepDays * DAY_MS;
    if (isOld) await rm(join(saveDir, name), { recursive: true, force: true });
  }
}

/** Deletes folders that a killed daemon has left half copied; their workspaces still exist. Must not run while work is being saved. */
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

/** Returns false when there is nothing to copy. */
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

/** `saved.json`: the record of a folder of saved work. Written last, before the folder gets its name. */
export const savedRecord = z.object({
  version: z.literal(1),
  issue: z.object({ id: z.string(), identifier: z.string(), title: z.string() }),
  workspace_key: z.string(),
  saved_at: z.iso.datetime(),
  repositories: z.array(
    z.object({
      /** Relative to the workspace; empty for the workspace itself. */
      path: z.string(),
      /** The prefix of its file names. */
      prefix: z.string().regex(/^[A-Za-z0-9._-]*$/),
      /** The commit of HEAD; null before the first one. */
      head: z
        .string()
        .regex(/^[0-9a-f]{40,64}$/)
        .nullable(),
      /** The branch of HEAD; null when HEAD was detached. */
      branch: z.string().nullable(),
      bundle: z.boolean(),
      patch: z.boolean(),
    }),
  ),
  /** For users: what was not saved. */
  left_out: z.array(z.string()),
});

export type SavedRecord = z.infer<typeof savedRecord>;
export type SavedRepository = SavedRecord['repositories'][number];

export const RECORD_FILE = 'saved.json';
export const BUNDLE_FILE = 'work.bundle';
export const PATCH_FILE = 'work.patch';
/** Marks a folder that is being filled, or whose daemon was killed meanwhile. */
export const PARTIAL_PREFIX = '.partial-';

export function savedName(workspaceKey: string, savedAtMs: number): string {
  return `${workspaceKey}@${new Date(savedAtMs).toISOString().replaceAll(':', '.')}`;
}

/** The key and time in the name of a saved folder. Returns null for any other name. */
export function parseSavedName(name: string): { readonly key: string; readonly savedAtMs: number } | null {
  const [, key, time] = /^(.+)@([^@]+)$/.exec(name) ?? [];
  const savedAtMs = Date.parse(time?.replace(/T(\d+)\.(\d+)\./, 'T$1:$2:') ?? '');
  return key === undefined || Number.isNaN(savedAtMs) ? null : { key, savedAtMs };
}
