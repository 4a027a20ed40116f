import { join } from 'node:path';
import type { Logger } from 'pino';
import { BOOKKEEPING_FOLDER } from '../../runner/workspace/workspace-path.js';
import type { TrackerConfig } from '../domain/config.js';
import { toBatonError } from '../domain/errors.js';
import { labelKey } from '../domain/issue.js';
import type { Tracker } from '../domain/ports.js';
import { defaultLockDir } from '../state-dir.js';
import { type LockHolder, type Locks, takeLocks } from '../store/instance-lock.js';

export interface DaemonLock {
  /** Names something that only one daemon may work on. */
  readonly key: string;
  readonly dir: string;
  /** In addition to another lock. Skipped where the folder cannot have locks. */
  readonly isExtra?: true;
}

interface LockedWork {
  readonly root: string;
  readonly tracker: Pick<Tracker, 'scope'>;
  readonly config: TrackerConfig;
  readonly lockDir: string;
  readonly homeDir: string;
}

/**
 * The locks on what a daemon works on. A daemon with another `XDG_STATE_HOME` has another lock folder, so there are extra locks beside the
 * workspaces and in the usual lock folder. These come first: all daemons take the locks that they share in the same order.
 */
export function workLocks({ root, tracker, config, lockDir, homeDir }: LockedWork): readonly DaemonLock[] {
  const workspaces = `the workspaces in ${root}`;
  const issues = issuesKey(tracker, config);
  const usualDir = defaultLockDir({}, homeDir);
  return [
    { key: workspaces, dir: join(root, BOOKKEEPING_FOLDER, 'locks'), isExtra: true },
    ...(usualDir === lockDir ? [] : [{ key: issues, dir: usualDir, isExtra: true } as const]),
    { key: workspaces, dir: lockDir },
    { key: issues, dir: lockDir },
  ];
}

/** Two daemons may use one tracker when their labels or assignees differ. */
function issuesKey({ scope }: Pick<Tracker, 'scope'>, { requiredLabels, provider }: TrackerConfig): string {
  const labels = requiredLabels.map(labelKey).sort();
  const assignee = typeof provider.assignee === 'string' ? ` of ${provider.assignee}` : '';
  return `the issues of ${scope}${assignee}${labels.length === 0 ? '' : ` with the labels ${labels.join(', ')}`}`;
}

/**
 * Locks of a daemon. They outlive the closing of its other resources, so that no other daemon comes in
 * between when it is opened again, and those of new settings are taken before the old ones are released.
 */
export class DaemonLocks {
  readonly #held = new Map<string, Locks>();

  constructor(
    private readonly holder: LockHolder,
    private readonly log: Logger,
  ) {}

  /** Takes those that are not held yet, all or none. Throws `already_running`. */
  async take(locks: readonly DaemonLock[]): Promise<void> {
    const taken: string[] = [];
    try {
      for (const lock of locks) {
        const name = nameOf(lock);
        if (this.#held.has(name)) continue;
        const held = await this.#takeOne(lock);
        if (held === null) continue;
        this.#held.set(name, held);
        taken.push(name);
      }
    } catch (error) {
      for (const name of taken.reverse()) await this.#release(name);
      throw error;
    }
  }

  async keepOnly(locks: readonly DaemonLock[]): Promise<void> {
    const kept = new Set(locks.map(nameOf));
    for (const name of [...this.#held.keys()].reverse()) if (!kept.has(name)) await this.#release(name);
  }

  async #takeOne({ key, dir, isExtra }: DaemonLock): Promise<Locks | null> {
    try {
      return await takeLocks({ keys: [key], dir, holder: this.holder });
    } catch (thrown) {
      const { code, message } = toBatonError(thrown);
      if (!isExtra || code === 'already_running') throw thrown;
      this.log.warn({ detail: message }, 'a daemon with another XDG_STATE_HOME could not be noticed');
      return null;
    }
  }

  async #release(name: string): Promise<void> {
    const held = this.#held.get(name);
    this.#held.delete(name);
    await held?.release();
  }
}

function nameOf({ dir, key }: DaemonLock): string {
  return `${dir}\0${key}`;
}
