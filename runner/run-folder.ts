import { mkdtemp, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deleteTrash } from './workspace-bookkeeping.js';

/**
 * The run's own TMPDIR. Short and below the system's temp folder, because tools put sockets there and a socket's path may have
 * 108 bytes only; mode 0700.
 */
export async function makeRunFolder(runId: string): Promise<string> {
  return realpath(await mkdtemp(join(tmpdir(), `baton-${runId.slice(0, 24)}-`)));
}

/** What an agent left there may not be deletable (a file of another user): that is litter, not a failure. */
export async function removeRunFolder(path: string): Promise<Error | null> {
  return deleteTrash(path).then(
    () => null,
    (error: Error) => error,
  );
}
