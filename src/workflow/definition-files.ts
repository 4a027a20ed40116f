import { constants } from 'node:fs';
import { type FileHandle, open, opendir, realpath } from 'node:fs/promises';
import path from 'node:path';
import { assertNever } from '../domain/json.js';

const CHUNK_BYTES = 65_536;

export type BoundedRead =
  | { readonly bytes: Buffer }
  | { readonly refused: 'not_regular'; readonly what: string }
  | { readonly refused: 'too_large' }
  | { readonly refused: 'unreadable'; readonly code: string; readonly cause: unknown };

/** Reads a regular file of limited size. Never blocks and never throws: a FIFO, a device, a folder or a huge file is rejected. */
export async function readBounded(file: string, maxBytes: number): Promise<BoundedRead> {
  let handle: FileHandle | null = null;
  try {
    // Without O_NONBLOCK, opening a FIFO waits for a writer.
    handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    return await readRegularFile(handle, maxBytes);
  } catch (error) {
    return { refused: 'unreadable', code: (error as NodeJS.ErrnoException).code ?? 'unknown error', cause: error };
  } finally {
    await handle?.close();
  }
}

async function readRegularFile(handle: FileHandle, maxBytes: number): Promise<BoundedRead> {
  const stats = await handle.stat();
  if (!stats.isFile()) {
    const what = stats.isDirectory() ? 'a folder' : stats.isFIFO() ? 'a FIFO' : 'a device';
    return { refused: 'not_regular', what };
  }
  // The file may grow while it is read, so the size is checked again below.
  if (stats.size > maxBytes) return { refused: 'too_large' };
  const chunks: Buffer[] = [];
  let total = 0;
  for (;;) {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(CHUNK_BYTES), 0, CHUNK_BYTES, null);
    if (bytesRead === 0) return { bytes: Buffer.concat(chunks, total) };
    total += bytesRead;
    if (total > maxBytes) return { refused: 'too_large' };
    chunks.push(buffer.subarray(0, bytesRead));
  }
}

const MAX_DEFINITION_BYTES = 65_536;
const MAX_DEFINITIONS = 200;
const MAX_ENTRIES = 2_000;

/** A YAML file of `.baton/executors/`. */
export interface DefinitionFile {
  readonly layer: 'project' | 'global';
  readonly path: string;
  /** The name in messages. */
  readonly name: string;
  /** Null: see `problem`. */
  readonly bytes: Buffer | null;
  readonly problem: string | null;
  /** The folder itself cannot be read. */
  readonly isFolder?: true;
}

/** The definitions beside WORKFLOW.md and in the home, by path. Unreadable files are listed with their problem. Never throws. */
export async function readDefinitionFiles(projectDir: string, homeDir?: string): Promise<DefinitionFile[]> {
  const project = path.join(projectDir, '.baton', 'executors');
  const found = await readFolder('project', project, path.join('.baton', 'executors'));
  if (homeDir === undefined) return found;
  const global = path.join(homeDir, '.baton', 'executors');
  // For a WORKFLOW.md in the home, both layers are the same folder.
  if (await isSameFolder(project, global)) return found;
  return [...found, ...(await readFolder('global', global, path.join('~', '.baton', 'executors')))];
}

async function readFolder(layer: DefinitionFile['layer'], folder: string, shown: string): Promise<DefinitionFile[]> {
  const names: string[] = [];
  const refused = (problem: string): DefinitionFile[] => [
    { layer, path: folder, name: shown, bytes: null, problem, isFolder: true },
  ];
  try {
    let entries = 0;
    for await (const { name } of await opendir(folder)) {
      if (++entries > MAX_ENTRIES) return refused(`has more than ${MAX_ENTRIES} entries; none of them is used`);
      if (/^[^.].*\.ya?ml$/.test(name)) names.push(name);
    }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    return code === 'ENOENT' ? [] : refused(`cannot be read as a folder (${code})`);
  }
  if (names.length > MAX_DEFINITIONS)
    return refused(`has more than ${MAX_DEFINITIONS} definitions; none of them is used`);
  const files: DefinitionFile[] = [];
  for (const name of names.sort()) {
    const file = path.join(folder, name);
    const read = await readBounded(file, MAX_DEFINITION_BYTES);
    const content = 'bytes' in read ? { bytes: read.bytes, problem: null } : { bytes: null, problem: problemOf(read) };
    files.push({ layer, path: file, name: path.join(shown, name.replace(/\p{C}/gu, '?')), ...content });
  }
  return files;
}

function problemOf(read: Exclude<BoundedRead, { bytes: Buffer }>): string {
  switch (read.refused) {
    case 'not_regular':
      return `is ${read.what}, not a regular file`;
    case 'too_large':
      return `is larger than ${MAX_DEFINITION_BYTES} bytes`;
    case 'unreadable':
      return `cannot be read (${read.code})`;
    default:
      return assertNever(read);
  }
}

async function isSameFolder(one: string, other: string): Promise<boolean> {
  if (one === other) return true;
  const [first, second] = await Promise.all([one, other].map((folder) => realpath(folder).catch(() => null)));
  return first !== null && first === second;
}
