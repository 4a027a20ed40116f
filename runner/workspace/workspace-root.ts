import { constants } from 'node:fs';
import { access, mkdir, realpath, stat, statfs } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { BatonError } from '../../src/domain/errors.js';
import { isInside } from './workspace-path.js';

interface RootRequest {
  readonly root: string;
  /** The folder of WORKFLOW.md. */
  readonly workflowDir: string;
  readonly home: string;
}

const BYTES_PER_MB = 1_048_576;
const OTHERS_MAY_WRITE = 0o002;

/** Makes the folder of all workspaces with mode 0700. Returns its real path. Throws `invalid_workspace_root` when it cannot be used. */
export async function openWorkspaceRoot(request: RootRequest): Promise<string> {
  const root = resolve(request.root);
  try {
    // Before anything is made: a symlink in the path may lead to a refused folder.
    await refuseProtected(root, await realTarget(root), request);
    await mkdir(root, { recursive: true, mode: 0o700 });
    const real = await realpath(root);
    await refuseProtected(root, real, request);
    await refuseUnusable(root, real);
    return real;
  } catch (error) {
    throw error instanceof BatonError ? error : refusal(root, await reasonOf(root, error), error);
  }
}

/** The same checks without making anything. Returns the real path that the root has or would have. */
export async function checkWorkspaceRoot(request: RootRequest): Promise<string> {
  const root = resolve(request.root);
  try {
    const real = await realTarget(root);
    await refuseProtected(root, real, request);
    const existing = await existingPart(real);
    if (existing === real) await refuseUnusable(root, real);
    else if ((await stat(existing)).isDirectory()) await access(existing, constants.W_OK | constants.X_OK);
    else throw refusal(root, 'has a file in its path');
    return real;
  } catch (error) {
    throw error instanceof BatonError ? error : refusal(root, await reasonOf(root, error), error);
  }
}

/** The longest part of a path that exists. */
export async function existingPart(path: string): Promise<string> {
  const isThere = await stat(path).then(
    () => true,
    (error) => codeOf(error) !== 'ENOENT',
  );
  return isThere || dirname(path) === path ? path : existingPart(dirname(path));
}

/** Free space for ordinary users on the disk of `path`, in MB. Returns null when it cannot be read. */
export async function freeDiskMb(path: string): Promise<number | null> {
  try {
    const { bavail, bsize } = await statfs(path);
    return Math.floor((bavail * bsize) / BYTES_PER_MB);
  } catch {
    return null;
  }
}

async function refuseProtected(root: string, real: string, { workflowDir, home }: RootRequest): Promise<void> {
  if (dirname(real) === real) throw refusal(root, 'is the root of the file system');
  if (isAtOrAbove(real, await realTarget(resolve(home)))) throw refusal(root, 'is the home directory, or contains it');
  if (isAtOrAbove(real, await realTarget(resolve(workflowDir)))) {
    throw refusal(root, 'is the folder of WORKFLOW.md, or contains it');
  }
}

async function refuseUnusable(root: string, real: string): Promise<void> {
  const stats = await stat(real);
  if (!stats.isDirectory()) throw refusal(root, 'is not a directory');
  if ((stats.mode & OTHERS_MAY_WRITE) !== 0) throw refusal(root, 'can be written by every user of this machine');
  await access(real, constants.R_OK | constants.W_OK | constants.X_OK);
}

/** The real path that `path` has, or would have once it exists. */
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

async function reasonOf(root: string, error: unknown): Promise<string> {
  switch (codeOf(error)) {
    case 'EACCES':
    case 'EPERM': {
      const closed = await closedFolder(dirname(root));
      return closed === null ? 'cannot be written by this user' : `lies in ${closed}, which this user cannot enter`;
    }
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

/** The highest folder of a path that this user may not enter. Returns null when there is none. */
async function closedFolder(path: string): Promise<string | null> {
  const above = dirname(path) === path ? null : await closedFolder(dirname(path));
  if (above !== null) return above;
  return stat(`${path}/.`).then(
    () => null,
    (error) => (codeOf(error) === 'EACCES' ? path : null),
  );
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | null)?.code;
}
