import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Json } from '../../../src/domain/json.js';
import { parseYaml } from './parse-yaml.js';

/** Parsing holds everybody up; no definition needs more. */
const MAX_BYTES = 64 * 1024;

/** What stands in `<stem>.yaml` or `<stem>.yml` of a folder. */
export type Definition =
  | { readonly kind: 'read'; readonly file: string; readonly content: Json }
  | { readonly kind: 'missing' }
  | { readonly kind: 'broken'; readonly file: string; readonly reason: string };

/** Never throws, and never waits for a file that is none. */
export async function readDefinition(folder: string, stem: 'executor' | 'capability'): Promise<Definition> {
  for (const ending of ['yaml', 'yml']) {
    const file = join(folder, `${stem}.${ending}`);
    try {
      return { kind: 'read', file, content: parseYaml(await readSmallFile(file)) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue;
      return { kind: 'broken', file, reason: error instanceof Error ? error.message : String(error) };
    }
  }
  return { kind: 'missing' };
}

async function readSmallFile(path: string): Promise<string> {
  // Without O_NONBLOCK a FIFO would hold us until somebody writes to it.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!(await file.stat()).isFile()) throw new Error('is no regular file');
    return await readUpTo(file, MAX_BYTES);
  } finally {
    await file.close();
  }
}

/** The whole file as text. It may grow while it is read, so what counts is what arrives. */
export async function readUpTo(file: FileHandle, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let total = 0;
  for (;;) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(64 * 1024), 0, 64 * 1024, total);
    if (bytesRead === 0) return Buffer.concat(chunks).toString('utf8');
    total += bytesRead;
    if (total > maxBytes) throw new Error(`is larger than ${maxBytes} bytes`);
    chunks.push(buffer.subarray(0, bytesRead));
  }
}
