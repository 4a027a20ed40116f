import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { lstat, mkdir, readFile, realpath, rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { BatonError } from '../src/domain/errors.js';
import { deleteTrash } from './workspace/bookkeeping.js';

export interface DaemonFolder {
  readonly path: string;
  /** Starts to remove the folders of killed daemons. Not awaited, because they may be large; `remove` waits for it. Never throws. */
  removeEarlier(): void;
  /** Never throws. Returns the error when the folder cannot be removed. */
  remove(): Promise<Error | null>;
}

/**
 * Makes the daemon's temporary folder; each run has its TMPDIR in it. The path is short and below the system's temp folder, because tools
 * put sockets there and the path of a socket is limited to 108 bytes. Mode 0700. The folder is removed when the daemon ends, so a forced
 * exit leaves nothing there. A killed daemon leaves its folder behind: the file `note` names it, and the next daemon removes it.
 */
export async function makeDaemonFolder(note: string): Promise<DaemonFolder> {
  const earlier = (await readFile(note, 'utf8').catch(() => '')).split('\n').filter(isDaemonFolder);
  try {
    const path = join(await realpath(tmpdir()), `baton-${randomBytes(4).toString('hex')}`);
    // The note comes first: a daemon that is killed in between has made no folder. A note that cannot be written costs only litter.
    await writeNote(note, [path, ...earlier]).catch(() => {});
    await mkdir(path, { mode: 0o700 });
    let removal = Promise.resolve();
    return {
      path,
      removeEarlier() {
        if (earlier.length > 0) removal = removeEarlierFolders(note, path, earlier);
      },
      async remove() {
        await removal;
        return removeFolder(path);
      },
    };
  } catch (error) {
    const message = `no temporary folder can be made in ${tmpdir()}: ${(error as Error).message}. Set TMPDIR to a folder that you can write`;
    throw new BatonError('workspace_failed', message, {}, { cause: error });
  }
}

/** Atomic: half a note would lose the names of folders. */
async function writeNote(note: string, paths: readonly string[]): Promise<void> {
  await writeFile(`${note}.new`, paths.join('\n'), { mode: 0o600 });
  await rename(`${note}.new`, note);
}

async function removeEarlierFolders(note: string, own: string, earlier: readonly string[]): Promise<void> {
  for (const path of earlier) {
    const found = await lstat(path).catch(() => null);
    if (found?.isDirectory() && found.uid === process.geteuid?.()) await removeFolder(path);
  }
  await writeNote(note, [own]).catch(() => {}); // Then the next daemon checks them once more.
}

/** The note is not trusted: nothing is removed that does not have the name of such a folder. */
function isDaemonFolder(path: string): boolean {
  return /^baton-[0-9a-f]{8}$/.test(basename(path));
}

export async function makeRunFolder(daemonFolder: string, name: string): Promise<string> {
  const path = join(daemonFolder, name);
  mkdirSync(path, { mode: 0o700 });
  return path;
}

/** Never throws. Agents may leave files that cannot be deleted, such as those of another user; then the error is returned. */
export async function removeFolder(path: string): Promise<Error | null> {
  return deleteTrash(path).then(
    () => null,
    (error: Error) => error,
  );
}
