import { lstat, open, readdir, readFile } from 'node:fs/promises';
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
} from '../../../runner/workspace/saved-work.js';
import { BatonError } from '../../domain/errors.js';

/** What was saved of one workspace. */
export interface SavedFolder {
  readonly name: string;
  readonly path: string;
  readonly savedAtMs: number;
  readonly issue: SavedRecord['issue'];
  readonly repositories: readonly RecoverableRepository[];
  readonly leftOut: readonly string[];
  readonly bytes: number;
}

export interface RecoverableRepository extends Omit<SavedRepository, 'head'> {
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

async function withoutRecord(path: string, files: readonly string[]): Promise<RecoverableRepository[]> {
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

export interface BundleHeader {
  /** Commits that the bundle builds on and does not hold. */
  readonly prerequisites: readonly string[];
  /** What it holds: full names of refs, and where they point. */
  readonly refs: ReadonlyMap<string, string>;
  /** Where the header ends and the pack begins. */
  readonly packOffset: number;
}

const MAX_HEADER_BYTES = 16_000_000;
const CHUNK_BYTES = 65_536;
const END = Buffer.from('\n\n');
const OBJECT_ID = '([0-9a-f]{40}|[0-9a-f]{64})';

/** Reads the text in front of a bundle's pack, as gitformat-bundle(5) tells it. */
export async function readBundleHeader(path: string): Promise<BundleHeader> {
  const bytes = await headerBytes(path);
  const [signature = '', ...lines] = bytes.toString('utf8').split('\n');
  if (!/^# v[23] git bundle$/.test(signature)) throw damaged(path, 'it does not begin as one');
  const prerequisites: string[] = [];
  const refs = new Map<string, string>();
  for (const line of lines) {
    const [, needed] = new RegExp(`^-${OBJECT_ID}(?: |$)`).exec(line) ?? [];
    const [, id, name] = new RegExp(`^${OBJECT_ID} (refs/.+)$`).exec(line) ?? [];
    if (needed !== undefined) prerequisites.push(needed);
    else if (id !== undefined && name !== undefined) refs.set(name, id);
    else if (!line.startsWith('@')) throw damaged(path, 'its header cannot be read');
  }
  if (refs.size === 0) throw damaged(path, 'it names no branch');
  return { prerequisites, refs, packOffset: bytes.length + END.length };
}

async function headerBytes(path: string): Promise<Buffer> {
  const handle = await open(path, 'r');
  try {
    let bytes = Buffer.alloc(0);
    while (bytes.length < MAX_HEADER_BYTES) {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(CHUNK_BYTES), 0, CHUNK_BYTES, bytes.length);
      if (bytesRead === 0) throw damaged(path, 'it ends within its header');
      bytes = Buffer.concat([bytes, buffer.subarray(0, bytesRead)]);
      const end = bytes.indexOf(END);
      if (end >= 0) return bytes.subarray(0, end);
    }
    throw damaged(path, 'its header is too long');
  } finally {
    await handle.close();
  }
}

function damaged(path: string, why: string): BatonError {
  return new BatonError(
    'recover_failed',
    `${path} is no whole bundle of git: ${why}. Is there another one? See --list`,
  );
}
