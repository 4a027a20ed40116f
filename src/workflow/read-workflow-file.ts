import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import path from 'node:path';
import { BatonError } from '../domain/errors.js';

/** More is not a workflow: refused before it fills memory. */
export const MAX_WORKFLOW_BYTES = 1_000_000;

/** One reading of the file; `hash` is the SHA-256 of its bytes. */
export interface WorkflowFile {
  readonly path: string;
  readonly bytes: Buffer;
  readonly hash: string;
}

/** Never blocks, whatever lies at the path: a FIFO, a device, a folder or a huge file is an error. Throws `BatonError`. */
export async function readWorkflowFile(file: string): Promise<WorkflowFile> {
  const absolute = path.resolve(file);
  const handle = await openForReading(absolute);
  try {
    const bytes = await readRegularFile(handle, absolute);
    return { path: absolute, bytes, hash: createHash('sha256').update(bytes).digest('hex') };
  } catch (error) {
    throw error instanceof BatonError ? error : unreadable(absolute, error);
  } finally {
    await handle.close();
  }
}

async function openForReading(file: string): Promise<FileHandle> {
  try {
    // Without O_NONBLOCK, opening a FIFO waits until somebody writes to it.
    return await open(file, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch (error) {
    throw unreadable(file, error);
  }
}

async function readRegularFile(handle: FileHandle, file: string): Promise<Buffer> {
  const stats = await handle.stat();
  if (!stats.isFile()) {
    const what = stats.isDirectory() ? 'a folder' : stats.isFIFO() ? 'a FIFO' : 'a device';
    throw new BatonError('missing_workflow_file', `${file} is ${what}, not a regular file. Put a WORKFLOW.md there.`);
  }
  // The size of `stat` is a first look only: the file may grow while it is read.
  if (stats.size > MAX_WORKFLOW_BYTES) throw tooLarge(file);
  const chunks: Buffer[] = [];
  let total = 0;
  for (;;) {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(65_536), 0, 65_536, null);
    if (bytesRead === 0) return Buffer.concat(chunks, total);
    total += bytesRead;
    if (total > MAX_WORKFLOW_BYTES) throw tooLarge(file);
    chunks.push(buffer.subarray(0, bytesRead));
  }
}

function tooLarge(file: string): BatonError {
  return new BatonError(
    'invalid_workflow_config',
    `${file} is larger than ${MAX_WORKFLOW_BYTES} bytes. Shorten it: long scripts belong in files of their own.`,
  );
}

function unreadable(file: string, error: unknown): BatonError {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
  const message =
    code === 'ENOENT' || code === 'ENOTDIR'
      ? `${file} does not exist. Give the path of a WORKFLOW.md; \`baton init\` writes one, \`baton demo\` shows what it is for.`
      : code === 'EACCES' || code === 'EPERM'
        ? `${file} may not be read by this user. Change its rights, or give the path of a readable WORKFLOW.md.`
        : `${file} cannot be read (${code}). Give the path of a readable WORKFLOW.md.`;
  return new BatonError('missing_workflow_file', message, { code }, { cause: error });
}
