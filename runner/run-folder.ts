import { mkdir, mkdtemp, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deleteTrash } from './workspace-bookkeeping.js';

/**
 * Temporary folders: one for the daemon, and in it a TMPDIR for each run. Short and below the system's temp folder, because
 * tools put sockets there and a socket's path may have 108 bytes only; mode 0700. The daemon's goes when the daemon
 * ends, so a forced end leaves nothing there either.
 */
export async function makeDaemonFolder(): Promise<string> {
  return realpath(await mkdtemp(join(tmpdir(), 'baton-')));
}

export async function makeRunFolder(daemonFolder: string, name: string): Promise<string> {
  const path = join(daemonFolder, name);
  await mkdir(path, { mode: 0o700 });
  return path;
}

/** What an agent left there may not be deletable (a file of another user): that is litter, not a failure. */
export async function removeFolder(path: string): Promise<Error | null> {
  return deleteTrash(path).then(
    () => null,
    (error: Error) => error,
  );
}
