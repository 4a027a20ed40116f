import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { BatonError } from '../../domain/errors.js';
import type { InstallPlan } from './plan-install.js';

/** Writes what is not there yet; a file of variables that is there is never touched. Throws `service_failed`. */
export async function writeServiceFiles({ unitFile, variablesFile, before }: InstallPlan): Promise<void> {
  try {
    if (!variablesFile.isThere) await createPrivate(variablesFile);
    if (before?.text !== unitFile.text) await replace(unitFile);
  } catch (error) {
    const message = `a file of the service could not be written: ${(error as Error).message}`;
    throw new BatonError('service_failed', message, {}, { cause: error });
  }
}

interface NewFile {
  readonly path: string;
  readonly text: string;
}

async function createPrivate({ path, text }: NewFile): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFile(path, text, { flag: 'wx', mode: 0o600 });
}

/** At once: a systemd that reads it meanwhile sees the old one or the new one. */
async function replace({ path, text }: NewFile): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const half = `${path}.${process.pid}.new`;
  try {
    await writeFile(half, text, { flag: 'wx' });
    // Whatever the umask is: it holds no secret, and `systemctl cat` is for everybody.
    await chmod(half, 0o644);
    await rename(half, path);
  } finally {
    await rm(half, { force: true });
  }
}
