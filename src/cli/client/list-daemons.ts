import { defaultLockDir } from '../../state-dir.js';
import { type LockHolder, listHolders } from '../../store/lock-holder.js';
import type { Io } from '../io.js';

/** Every daemon of this user, wherever it was started: they all have their locks in one folder. The oldest first. */
export function listDaemons({ env, homeDir }: Pick<Io, 'env' | 'homeDir'>): Promise<LockHolder[]> {
  return listHolders(defaultLockDir(env, homeDir));
}
