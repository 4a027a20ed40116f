import { lstat } from 'node:fs/promises';
import { sep } from 'node:path';
import { BatonError } from '../../src/domain/errors.js';
import type { DirectoryIdentity, HiddenDirectory } from './process.js';

/** Linux refuses a single string of 128 KiB. */
const MAX_VALUE_BYTES = 100_000;

/** Throws `invalid_environment` on what no process could be started with. */
export function checkEnvironment(env: { readonly [name: string]: string }): void {
  for (const [name, value] of Object.entries(env)) {
    if (name === '' || /[=\0]/.test(name)) {
      throw new BatonError('invalid_environment', `${JSON.stringify(name)} is no name of a variable; remove it`, {
        name,
      });
    }
    if (value.includes('\0')) {
      throw new BatonError('invalid_environment', `The variable ${name} holds a NUL byte; remove it`, { name });
    }
    const bytes = Buffer.byteLength(value);
    if (bytes > MAX_VALUE_BYTES) {
      const message = `The variable ${name} has ${bytes} bytes, at most ${MAX_VALUE_BYTES} can be passed; use a file instead`;
      throw new BatonError('invalid_environment', message, { name, bytes });
    }
  }
}

/** The text for `bash -lc`. The unset names share the first line with the script, so that its line numbers stay true. */
export function shellText(script: string, unset: readonly string[]): string {
  const wrong = unset.find((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  if (wrong !== undefined) {
    throw new BatonError(
      'invalid_environment',
      `${JSON.stringify(wrong)} cannot be unset: it is no name of a variable`,
    );
  }
  if (script.includes('\0')) throw new BatonError('spawn_failed', 'The script holds a NUL byte; remove it');
  const bytes = Buffer.byteLength(script);
  if (bytes > MAX_VALUE_BYTES) {
    throw new BatonError(
      'spawn_failed',
      `The script has ${bytes} bytes, at most ${MAX_VALUE_BYTES} can be passed; use a file`,
    );
  }
  return unset.length === 0 ? script : `unset ${unset.join(' ')}; ${script}`;
}

/** Throws `workspace_changed` unless `cwd` is still the directory that was checked before. Returns its exact identity. */
export async function checkWorkspace(cwd: string, expected: DirectoryIdentity): Promise<{ dev: bigint; ino: bigint }> {
  const changed = (what: string, cause?: unknown) =>
    new BatonError('workspace_changed', `${cwd} ${what}; nothing was started in it`, { cwd }, { cause });
  // Exact numbers: some file systems use inode numbers that a double cannot hold.
  const found = await lstat(cwd, { bigint: true }).catch((error: unknown) => {
    throw changed('cannot be read any more', error);
  });
  if (found.isSymbolicLink()) throw changed('has become a symlink');
  if (!found.isDirectory()) throw changed('is no directory any more');
  if (Number(found.dev) !== expected.dev || Number(found.ino) !== expected.ino)
    throw changed('is another directory now');
  return { dev: found.dev, ino: found.ino };
}

/** Throws `spawn_failed` when hiding a directory would take the working directory away with it. */
export function checkNotHidden(cwd: string, hide: readonly HiddenDirectory[]): void {
  const around = hide.find(({ path }) => cwd === path || cwd.startsWith(path.endsWith(sep) ? path : path + sep));
  if (around === undefined) return;
  const message = `${cwd} lies inside ${around.path}, which is hidden from every run; move workspace.root out of it`;
  throw new BatonError('spawn_failed', message, { cwd, hidden: around.path });
}
