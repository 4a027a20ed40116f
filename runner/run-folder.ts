import { randomBytes } from 'node:crypto';
import { lstat, mkdir, readFile, realpath, rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { BatonError } from '../src/domain/errors.js';
import { deleteTrash } from './workspace/workspace-folder.js';

export interface DaemonFolder {
  readonly path: string;
  /** What a killed daemon left is gone. Never rejects. There may be a lot: only the end of the daemon waits for it. */
  readonly tidied: Promise<void>;
}

/**
 * Temporary folders: one for the daemon, and in it a TMPDIR for each run. Short and below the system's temp folder, because
 * tools put sockets there and a socket's path may have 108 bytes only; mode 0700. The daemon's goes when the daemon
 * ends, so a forced end leaves nothing there either. A killed daemon leaves its folder behind with all that agents put there:
 * the file `note` names it, and the next daemon removes it beside its work.
 */
export async function makeDaemonFolder(note: string): Promise<DaemonFolder> {
  const forgotten = (await readFile(note, 'utf8').catch(() => '')).split('\n').filter(canBeOurs);
  try {
    const path = join(await realpath(tmpdir()), `baton-${randomBytes(4).toString('hex')}`);
    // First the note: whoever is killed after it has made nothing, or what it names. Where it cannot be written litter may stay.
    await writeNote(note, [path, ...forgotten]).catch(() => {});
    await mkdir(path, { mode: 0o700 });
    return { path, tidied: forgotten.length === 0 ? Promise.resolve() : tidy(note, path, forgotten) };
  } catch (error) {
    const message = `no temporary folder can be made in ${tmpdir()}: ${(error as Error).message}. Set TMPDIR to a folder that you can write`;
    throw new BatonError('workspace_failed', message, {}, { cause: error });
  }
}

/** Whole or not at all: half a note would forget what it named. */
async function writeNote(note: string, paths: readonly string[]): Promise<void> {
  await writeFile(`${note}.new`, paths.join('\n'), { mode: 0o600 });
  await rename(`${note}.new`, note);
}

async function tidy(note: string, path: string, forgotten: readonly string[]): Promise<void> {
  await removeForgotten(forgotten);
  await writeNote(note, [path]).catch(() => {}); // Then they are looked for once more.
}

/** The name of a folder to delete had better not be trusted. */
function canBeOurs(path: string): boolean {
  return /^baton-[0-9a-f]{8}$/.test(basename(path));
}

async function removeForgotten(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    const found = await lstat(path).catch(() => null);
    if (found?.isDirectory() && found.uid === process.geteuid?.()) await removeFolder(path);
  }
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
