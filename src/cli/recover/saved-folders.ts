import { lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  BUNDLE_FILE,
  PARTIAL_PREFIX,
  PATCH_FILE,
  parseSavedName,
  RECORD_FILE,
  type SavedRecord,
  type SavedRepository,
  savedRecord,
} from '../../../runner/saved-record.js';
import { readBundleHeader } from './bundle-header.js';

/** What was saved of one workspace. */
export interface SavedFolder {
  readonly name: string;
  readonly path: string;
  readonly savedAtMs: number;
  readonly issue: SavedRecord['issue'];
  readonly repositories: readonly FoundRepository[];
  readonly leftOut: readonly string[];
  readonly bytes: number;
}

export interface FoundRepository extends Omit<SavedRepository, 'head'> {
  /** `undefined`: not known, as the folder has no record. */
  readonly head: string | null | undefined;
}

/** Everything that was saved, newest first. Reads only. */
export async function savedFolders(saveDir: string): Promise<SavedFolder[]> {
  const names = await readdir(saveDir).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return [];
  });
  const found = await Promise.all(
    names.filter((name) => !name.startsWith(PARTIAL_PREFIX)).map((name) => look(saveDir, name)),
  );
  return found.filter((one) => one !== null).sort((a, b) => b.savedAtMs - a.savedAtMs);
}

async function look(saveDir: string, name: string): Promise<SavedFolder | null> {
  const facts = parseSavedName(name);
  const path = join(saveDir, name);
  if (facts === null || !(await lstat(path).then((stats) => stats.isDirectory(), isGone))) return null;
  const files = await readdir(path).catch(isGone);
  if (files === false) return null;
  const sizes = await Promise.all(files.map((file) => lstat(join(path, file)).then(({ size }) => size, isGone)));
  const record = await readRecord(path);
  const { key, savedAtMs } = facts;
  return {
    name,
    path,
    savedAtMs,
    issue: record?.issue ?? { id: '', identifier: key, title: '' },
    repositories: record?.repositories ?? (await withoutRecord(path, files)),
    leftOut: record?.left_out ?? [],
    bytes: sizes.reduce<number>((sum, size) => sum + (size || 0), 0),
  };
}

/** The daemon may delete what is old while we look. */
function isGone(error: NodeJS.ErrnoException): false {
  if (error.code === 'ENOENT') return false;
  throw error;
}

/** `null` when there is none (it was saved by an older Baton), or none that can be read: then the files speak. */
async function readRecord(path: string): Promise<SavedRecord | null> {
  try {
    return savedRecord.parse(JSON.parse(await readFile(join(path, RECORD_FILE), 'utf8')));
  } catch {
    return null;
  }
}

async function withoutRecord(path: string, files: readonly string[]): Promise<FoundRepository[]> {
  const prefixes = files.flatMap((file) => {
    const ending = [BUNDLE_FILE, PATCH_FILE].find((one) => file === one || file.endsWith(`.${one}`));
    return ending === undefined ? [] : [file.slice(0, -ending.length)];
  });
  return Promise.all(
    [...new Set(prefixes)].sort().map(async (prefix) => {
      const bundle = files.includes(prefix + BUNDLE_FILE);
      const header = bundle ? await readBundleHeader(join(path, prefix + BUNDLE_FILE)).catch(() => null) : null;
      return {
        path: prefix.replace(/\.$/, ''),
        prefix,
        head: header?.refs.get('refs/baton/HEAD'),
        branch: null,
        bundle,
        patch: files.includes(prefix + PATCH_FILE),
      };
    }),
  );
}
