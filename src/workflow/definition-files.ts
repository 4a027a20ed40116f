import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

const CHUNK_BYTES = 65_536;

export type BoundedRead =
  | { readonly bytes: Buffer }
  | { readonly refused: 'not_regular'; readonly what: string }
  | { readonly refused: 'too_large' }
  | { readonly refused: 'unreadable'; readonly code: string; readonly cause: unknown };

/** Never blocks and never throws, whatever lies at the path: a FIFO, a device, a folder or a huge file is refused. */
export async function readBounded(file: string, maxBytes: number): Promise<BoundedRead> {
  let handle: FileHandle | null = null;
  try {
    // Without O_NONBLOCK, opening a FIFO waits until somebody writes to it.
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
  // The size of `stat` is a first look only: the file may grow while it is read.
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
