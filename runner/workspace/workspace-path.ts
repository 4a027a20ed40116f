import { createHash } from 'node:crypto';
import { resolve, sep } from 'node:path';
import { BatonError } from '../../src/domain/errors.js';

const MAX_READABLE_LENGTH = 100;
const HASH_DIGITS = 16;
/** Baton's own folder inside the root. Reserved in any case, because some disks ignore case. */
export const BOOKKEEPING_FOLDER = '.baton';

/**
 * The folder name of an issue: the identifier itself where possible. When characters are replaced or cut, a hash of the whole identifier is
 * appended, so that similar identifiers never share a folder. The owner records catch an identifier that equals the hashed name of another.
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

/** Whether `path` is strictly below `root`. Compares whole directory names: `/a/rootx` is not inside `/a/root`. */
export function isInside(root: string, path: string): boolean {
  const base = resolve(root);
  const target = resolve(path);
  return target !== base && target.startsWith(base.endsWith(sep) ? base : base + sep);
}

function flawOf(identifier: string): string | null {
  if (identifier === '') return 'is empty';
  if (identifier === '.' || identifier === '..') return 'is a name of the file system';
  if (identifier.includes('\0')) return 'contains a NUL';
  // Unpaired surrogates are all encoded as the same bytes and would have the same hash.
  if (/\p{Surrogate}/u.test(identifier)) return 'is not valid Unicode';
  return null;
}

function isReserved(key: string): boolean {
  return key.toLowerCase() === BOOKKEEPING_FOLDER;
}
