import { constants } from 'node:fs';
import { type FileHandle, open, rename, rm, writeFile } from 'node:fs/promises';

/** Small texts of the state directory that are nobody else's business. */
const MAX_BYTES = 4_096;

export type PrivateText = { readonly text: string } | { readonly problem: string } | null;

/** `null`: not there. What others could have read, written or put in its place is a problem, not a text. Throws only on disk trouble. */
export async function readPrivateFile(path: string): Promise<PrivateText> {
  let file: FileHandle;
  try {
    // Not to wait for the other end of a FIFO.
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    if (code === 'ELOOP') return { problem: 'is a symbolic link' };
    if (code === 'EACCES') return { problem: 'cannot be read' };
    throw error;
  }
  try {
    const facts = await file.stat();
    if (!facts.isFile()) return { problem: 'is no file' };
    if (facts.uid !== process.geteuid?.()) return { problem: 'belongs to another user' };
    if ((facts.mode & 0o077) !== 0) return { problem: 'is open to other users' };
    if (facts.size > MAX_BYTES) return { problem: 'is too large' };
    return { text: await file.readFile('utf8') };
  } finally {
    await file.close();
  }
}

/** Whole or not at all, for this user only. Takes the place of whatever is there, a link itself and not what it leads to. */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  const draft = `${path}.new`;
  // Of a process that was killed.
  await rm(draft, { force: true });
  await writeFile(draft, text, { flag: 'wx', mode: 0o600 });
  await rename(draft, path);
}
