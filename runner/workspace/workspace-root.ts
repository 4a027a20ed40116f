import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { access, mkdir, realpath, stat, statfs } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { BatonError } from '../../src/domain/errors.js';

interface RootRequest {
  readonly root: string;
  /** The folder of WORKFLOW.md. */
  readonly workflowDir: string;
  readonly home: string;
}

const BYTES_PER_MB = 1_048_576;
const OTHERS_MAY_WRITE = 0o002;

/** Makes the root of all workspaces, with mode 0700, and answers its real path; `invalid_workspace_root` when it will not do. */
export async function openWorkspaceRoot(request: RootRequest): Promise<string> {
  const asked = resolve(request.root);
  try {
    // Before anything is made: a symlink in the path may lead to a place that is refused.
    await refuseForeignGround(asked, await realTarget(asked), request);
    await mkdir(asked, { recursive: true, mode: 0o700 });
    const real = await realpath(asked);
    await refuseForeignGround(asked, real, request);
    await refuseUnusable(asked, real);
    return real;
  } catch (error) {
    throw error instanceof BatonError ? error : refusal(asked, reasonOf(error), error);
  }
}

/** Would it do? The same verdict without making anything: the real path that it has or would have. */
export async function checkWorkspaceRoot(request: RootRequest): Promise<string> {
  const asked = resolve(request.root);
  try {
    const real = await realTarget(asked);
    await refuseForeignGround(asked, real, request);
    const ground = await existingPart(real);
    if (ground === real) await refuseUnusable(asked, real);
    else if ((await stat(ground)).isDirectory()) await access(ground, constants.W_OK | constants.X_OK);
    else throw refusal(asked, 'has a file in its path');
    return real;
  } catch (error) {
    throw error instanceof BatonError ? error : refusal(asked, reasonOf(error), error);
  }
}

/** The longest part of a path that is there. */
export async function existingPart(path: string): Promise<string> {
  const isThere = await stat(path).then(
    () => true,
    (error) => codeOf(error) !== 'ENOENT',
  );
  return isThere || dirname(path) === path ? path : existingPart(dirname(path));
}

/** Free space for ordinary users of the disk below `path`, in MB; `null` when it cannot be told. */
export async function freeDiskMb(path: string): Promise<number | null> {
  try {
    const { bavail, bsize } = await statfs(path);
    return Math.floor((bavail * bsize) / BYTES_PER_MB);
  } catch {
    return null;
  }
}

async function refuseForeignGround(asked: string, real: string, { workflowDir, home }: RootRequest): Promise<void> {
  if (dirname(real) === real) throw refusal(asked, 'is the root of the file system');
  if (isAtOrAbove(real, await realTarget(resolve(home)))) throw refusal(asked, 'is the home directory, or contains it');
  if (isAtOrAbove(real, await realTarget(resolve(workflowDir)))) {
    throw refusal(asked, 'is the folder of WORKFLOW.md, or contains it');
  }
}

async function refuseUnusable(asked: string, real: string): Promise<void> {
  const stats = await stat(real);
  if (!stats.isDirectory()) throw refusal(asked, 'is not a directory');
  if ((stats.mode & OTHERS_MAY_WRITE) !== 0) throw refusal(asked, 'can be written by every user of this machine');
  await access(real, constants.R_OK | constants.W_OK | constants.X_OK);
}

/** The real path that `path` has, or would have once it is made. */
async function realTarget(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error;
    return join(await realTarget(dirname(path)), basename(path));
  }
}

function isAtOrAbove(root: string, path: string): boolean {
  return root === path || isInside(root, path);
}

function refusal(root: string, reason: string, cause?: unknown): BatonError {
  return new BatonError(
    'invalid_workspace_root',
    `workspace.root ${root} ${reason}: choose a folder of its own that only you can write`,
    { root },
    { cause },
  );
}

function reasonOf(error: unknown): string {
  switch (codeOf(error)) {
    case 'EACCES':
    case 'EPERM':
      return 'cannot be written by this user';
    case 'EROFS':
      return 'is on a read-only disk';
    case 'ENOTDIR':
    case 'EEXIST':
      return 'is not a directory, or has a file in its path';
    case 'ELOOP':
      return 'is a loop of symlinks';
    default:
      return `cannot be used (${error instanceof Error ? error.message : String(error)})`;
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | null)?.code;
}

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
