import { chmod, mkdir, readdir, realpath, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { BatonError, toBatonError } from './domain/errors.js';

export interface StateDir {
  readonly path: string;
  readonly transcripts: string;
  /** What git would have lost with a removed workspace. */
  readonly saved: string;
}

/** Makes the daemon's own folder, for its user only: no run may look into it. */
export async function openStateDir(asked: string): Promise<StateDir> {
  try {
    const wanted = resolve(asked);
    if (!(await makeFolder(wanted))) await refuseShared(wanted);
    await chmod(wanted, 0o700);
    const path = await realpath(wanted);
    const dir = { path, transcripts: join(path, 'transcripts'), saved: join(path, 'saved') };
    await mkdir(dir.transcripts, { recursive: true, mode: 0o700 });
    await mkdir(dir.saved, { recursive: true, mode: 0o700 });
    return dir;
  } catch (error) {
    const { message } = toBatonError(error);
    throw new BatonError(
      'store_failed',
      `the state directory ${asked} cannot be used: ${message}. Choose another with --state-dir`,
      {},
      { cause: error },
    );
  }
}

/**
 * `false`: it was there. Step by step, because the recursive mkdir of Node tries for ever where the system denies that the folder
 * above exists (/proc, some automounts).
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

/** A folder that others use, such as /tmp, would be closed to them and empty for every run. */
async function refuseShared(path: string): Promise<void> {
  const isOpen = ((await stat(path)).mode & 0o077) !== 0;
  if (isOpen && (await readdir(path)).length > 0)
    throw new Error('it is not empty and open to other users (chmod 700 it if it is yours alone)');
}

/** One per workflow: `~/.local/state/baton/<key of the workflow>`, or where XDG says. */
export function defaultStateDir(workflowKey: string, env: NodeJS.ProcessEnv, homeDir: string): string {
  return join(stateBase(env, homeDir), workflowKey);
}

/** One for all workflows of a user: daemons that could meet must look in the same place. `--state-dir` does not move it. */
export function defaultLockDir(env: NodeJS.ProcessEnv, homeDir: string): string {
  return join(stateBase(env, homeDir), 'locks');
}

/** What the user has written for services of Baton: secrets among it. */
export function defaultConfigDir(env: NodeJS.ProcessEnv, homeDir: string): string {
  return join(configBase(env, homeDir), 'baton');
}

export function configBase(env: NodeJS.ProcessEnv, homeDir: string): string {
  return env.XDG_CONFIG_HOME?.startsWith('/') ? env.XDG_CONFIG_HOME : join(homeDir, '.config');
}

function stateBase(env: NodeJS.ProcessEnv, homeDir: string): string {
  return join(env.XDG_STATE_HOME?.startsWith('/') ? env.XDG_STATE_HOME : join(homeDir, '.local', 'state'), 'baton');
}
