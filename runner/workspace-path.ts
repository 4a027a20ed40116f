import { createHash } from 'node:crypto';
import { resolve, sep } from 'node:path';
import { BatonError } from '../src/domain/errors.js';

const MAX_READABLE_LENGTH = 100;
const HASH_DIGITS = 16;
/** Our own folder inside the root (any case: some disks do not tell them apart). */
export const BOOKKEEPING_FOLDER = '.baton';

/**
 * The folder name of an issue: readable where the identifier allows it, and with a hash of the whole identifier wherever
 * something was replaced or cut, so that two identifiers that read alike never share a folder. An identifier that
 * is spelled like the hashed name of another is left to the owner records.
 */
export function workspaceKey(identifier: string): string {
  const flaw = flawOf(identifier);
  if (flaw !== null) {
    throw new BatonError(
      'unsafe_identifier',
      `the identifier ${JSON.stringify(identifier)} ${flaw} and cannot name a workspace: rename the issue in the tracker`,
      { identifier },
    );
  }
  const safe = identifier.replace(/[^A-Za-z0-9._-]/g, '_');
  if (safe === identifier && safe.length <= MAX_READABLE_LENGTH && !isReserved(safe)) return safe;
  const hash = createHash('sha256').update(identifier).digest('hex').slice(0, HASH_DIGITS);
  return `${safe.slice(0, MAX_READABLE_LENGTH)}-${hash}`;
}

/** Is `path` strictly below `root`? Compared by whole directory names: `/a/rootx` is not inside `/a/root`. */
export function isInside(root: string, path: string): boolean {
  const base = resolve(root);
  const target = resolve(path);
  return target !== base && target.startsWith(base.endsWith(sep) ? base : base + sep);
}

function flawOf(identifier: string): string | null {
  if (identifier === '') return 'is empty';
  if (identifier === '.' || identifier === '..') return 'is a name of the file system';
  if (identifier.includes('\0')) return 'contains a NUL';
  // Half a surrogate pair has no bytes of its own: all of them would hash alike.
  if (/\p{Surrogate}/u.test(identifier)) return 'is not valid Unicode';
  return null;
}

function isReserved(key: string): boolean {
  return key.toLowerCase() === BOOKKEEPING_FOLDER;
}
