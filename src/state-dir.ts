import { chmod, mkdir, readdir, realpath, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { BatonError, toBatonError } from './domain/errors.js';

export interface StateDir {
  readonly path: string;
  readonly transcripts: string;
  /** Unpushed work of removed workspaces. */
  readonly saved: string;
}

/** Makes the state directory, for its user only; it is hidden from runs. Throws `store_failed`. */
export async function openStateDir(requested: string): Promise<StateDir> {
  try {
    const folder = resolve(requested);
    if (!(await makeFolder(folder))) await refuseShared(folder);
    await chmod(folder, 0o700);
    const path = await realpath(folder);
    const dir = { path, transcripts: join(path, 'transcripts'), saved: join(path, 'saved') };
    await mkdir(dir.transcripts, { recursive: true, mode: 0o700 });
    await mkdir(dir.saved, { recursive: true, mode: 0o700 });
    return dir;
  } catch (error) {
    const { message } = toBatonError(error);
    throw new BatonError(
      'store_failed',
      `the state directory ${requested} cannot be used: ${message}. Choose another with --state-dir`,
      {},
      { cause: error },
    );
  }
}

/**
 * Returns false when the folder exists. Makes one folder at a time, because Node's recursive mkdir never ends where the system denies that
 * the parent exists (/proc, some automounts).
 */
async function makeFolder(path: string, isLastTry = false): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 });
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && (await stat(path)).isDirectory()) return false;
    if (code !== 'ENOENT' || isLastTry || dirname(path) === path) throw error;
  }
  await makeFolder(dirname(path));
  return makeFolder(path, true);
}

/** A shared folder, such as /tmp, must not become private to this user and hidden from runs. */
async function refuseShared(path: string): Promise<void> {
  const isOpen = ((await stat(path)).mode & 0o077) !== 0;
  if (isOpen && (await readdir(path)).length > 0)
    throw new Error('it is not empty and open to other users (run chmod 700 on it if only you use it)');
}

/** One per workflow: `~/.local/state/baton/<key of the workflow>`, or below `XDG_STATE_HOME`. */
export function defaultStateDir(workflowKey: string, env: NodeJS.ProcessEnv, homeDir: string): string {
  return join(stateBase(env, homeDir), workflowKey);
}

/** One for all workflows of a user, so that all daemons of a user see each other's locks. `--state-dir` does not change it. */
export function defaultLockDir(env: NodeJS.ProcessEnv, homeDir: string): string {
  return join(stateBase(env, homeDir), 'locks');
}

/** The user's files for Baton services. They may contain secrets. */
export function defaultConfigDir(env: NodeJS.ProcessEnv, homeDir: string): string {
  return join(configBase(env, homeDir), 'baton');
}

export function configBase(env: NodeJS.ProcessEnv, homeDir: string): string {
  return env.XDG_CONFIG_HOME?.startsWith('/') ? env.XDG_CONFIG_HOME : join(homeDir, '.config');
}

/** The folder of all state directories and locks of a user, unless they were chosen otherwise. */
export function stateBase(env: NodeJS.ProcessEnv, homeDir: string): string {
  return join(env.XDG_STATE_HOME?.startsWith('/') ? env.XDG_STATE_HOME : join(homeDir, '.local', 'state'), 'baton');
}
