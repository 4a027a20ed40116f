import { chmod, mkdir, readdir, realpath, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
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
    const isNew = (await mkdir(wanted, { recursive: true, mode: 0o700 })) !== undefined;
    if (!isNew) await refuseShared(wanted);
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

/** A folder that others use, such as /tmp, would be closed to them and empty for every run. */
async function refuseShared(path: string): Promise<void> {
  const isOpen = ((await stat(path)).mode & 0o077) !== 0;
  if (isOpen && (await readdir(path)).length > 0)
    throw new Error('it is not empty and open to other users (chmod 700 it if it is yours alone)');
}

/** One per workflow: `~/.local/state/baton/<key of the workflow>`, or where XDG says. */
export function defaultStateDir(workflowKey: string, env: NodeJS.ProcessEnv, homeDir: string): string {
  const base = env.XDG_STATE_HOME?.startsWith('/') ? env.XDG_STATE_HOME : join(homeDir, '.local', 'state');
  return join(base, 'baton', workflowKey);
}
