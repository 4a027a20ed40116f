import { createHash } from 'node:crypto';
import { resolve, sep } from 'node:path';
import { BatonError } from '../../src/domain/errors.js';
import { identifierFlaw } from '../../src/domain/identifier-flaw.js';

const MAX_READABLE_LENGTH = 100;
const HASH_DIGITS = 16;
/** Baton's own folder inside the root. Reserved in any case, because some disks ignore case. */
export const BOOKKEEPING_FOLDER = '.baton';

/** The folder names that an issue can have. */
export interface WorkspaceKeys {
  /** The identifier with every character that is not safe replaced by `_`. Null when that is too long or reserved. */
  readonly plain: string | null;
  /**
   * For an issue whose plain name belongs to another issue: with a hash of the identifier, and then with one that no other issue of any
   * tracker has. Earlier versions used the first of them for every identifier with replaced characters.
   */
  readonly hashed: readonly string[];
}

export function workspaceKeys(issue: {
  readonly scope: string;
  readonly issueId: string;
  readonly identifier: string;
}): WorkspaceKeys {
  const { scope, issueId, identifier } = issue;
  const flaw = identifierFlaw(identifier);
  if (flaw !== null) {
    throw new BatonError(
      'unsafe_identifier',
      `the identifier ${JSON.stringify(identifier)} ${flaw} and cannot name a workspace: rename the issue in the tracker`,
      { identifier },
    );
  }
  const name = safeName(identifier);
  const isUsable = name.length <= MAX_READABLE_LENGTH && !isReserved(name);
  return {
    plain: isUsable ? name : null,
    hashed: [distinctName(identifier), withHash(name, JSON.stringify([scope, issueId, identifier]))],
  };
}

/** A safe name that no other text has, whatever characters were replaced. */
export function distinctName(text: string): string {
  return withHash(safeName(text), text);
}

/** Whether `workspaceKeys` can return this name. */
export function isWorkspaceKey(name: string): boolean {
  return /^[A-Za-z0-9._-]{1,117}$/.test(name) && name !== '.' && name !== '..' && !isReserved(name);
}

/** Whether `path` is strictly below `root`. Compares whole directory names: `/a/rootx` is not inside `/a/root`. */
export function isInside(root: string, path: string): boolean {
  const base = resolve(root);
  const target = resolve(path);
  return target !== base && target.startsWith(base.endsWith(sep) ? base : base + sep);
}

function safeName(text: string): string {
  return text.replace(/[^A-Za-z0-9._-]/g, '_');
}

function withHash(name: string, hashed: string): string {
  const hash = createHash('sha256').update(hashed).digest('hex').slice(0, HASH_DIGITS);
  return `${name.slice(0, MAX_READABLE_LENGTH)}-${hash}`;
}

function isReserved(key: string): boolean {
  return key.toLowerCase() === BOOKKEEPING_FOLDER;
}
