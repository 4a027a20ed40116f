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

/** The saved work of one workspace. */
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
  /** Undefined when the folder has no record. */
  readonly head: string | null | undefined;
}

/** All saved work, newest first. Reads only. */
export async function savedFolders(saveDir: string): Promise<SavedFolder[]> {
  const names = await readdir(saveDir).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return [];
  });
  const found = await Promise.all(
    names.filter((name) => !name.startsWith(PARTIAL_PREFIX)).map((name) => readFolder(saveDir, name)),
  );
  return found.filter((one) => one !== null).sort((a, b) => b.savedAtMs - a.savedAtMs);
}

async function readFolder(saveDir: string, name: string): Promise<SavedFolder | null> {
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

/** The daemon may remove an old folder at the same time. */
function isGone(error: NodeJS.ErrnoException): false {
  if (error.code === 'ENOENT') return false;
  throw error;
}

/** Null when there is no valid record, as in a folder of an older Baton; then the files are read. */
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
  /** Commits that the bundle builds on and does not contain. */
  readonly prerequisites: readonly string[];
  /** Its refs by full name. */
  readonly refs: ReadonlyMap<string, string>;
  /** The offset of the pack after the header. */
  readonly packOffset: number;
}

const MAX_HEADER_BYTES = 16_000_000;
const CHUNK_BYTES = 65_536;
const END = Buffer.from('\n\n');
const OBJECT_ID = '([0-9a-f]{40}|[0-9a-f]{64})';

/** Reads the header of a bundle; see gitformat-bundle(5). */
export async function readBundleHeader(path: string): Promise<BundleHeader> {
  const bytes = await headerBytes(path);
  const [signature = '', ...lines] = bytes.toString('utf8').split('\n');
  if (!/^# v[23] git bundle$/.test(signature)) throw damaged(path, 'its signature is missing');
  const prerequisites: string[] = [];
  const refs = new Map<string, string>();
  for (const line of lines) {
    const [, needed] = new RegExp(`^-${OBJECT_ID}(?: |$)`).exec(line) ?? [];
    const [, id, name] = new RegExp(`^${OBJECT_ID} (refs/.+)$`).exec(line) ?? [];
    if (needed !== undefined) prerequisites.push(needed);
    else if (id !== undefined && name !== undefined) refs.set(name, id);
    else if (!line.startsWith('@')) throw damaged(path, 'its header cannot be read');
  }
  if (refs.size === 0) throw damaged(path, 'it contains no branch');
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
  return new BatonError('recover_failed', `${path} is no complete git bundle: ${why}. See --list for other saved work`);
}
