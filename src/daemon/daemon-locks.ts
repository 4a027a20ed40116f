import type { TrackerConfig } from '../domain/config.js';
import { labelKey } from '../domain/issue.js';
import type { Tracker } from '../domain/ports.js';
import { type LockHolder, type Locks, takeLocks } from '../store/instance-lock.js';

/** The keys of what a daemon works on. No other daemon may work on it. */
export function lockKeys(root: string, tracker: Pick<Tracker, 'scope'>, config: TrackerConfig): readonly string[] {
  return [`the workspaces in ${root}`, issuesKey(tracker, config)];
}

/** Two daemons may use one tracker when their labels or assignees differ. */
function issuesKey({ scope }: Pick<Tracker, 'scope'>, { requiredLabels, provider }: TrackerConfig): string {
  const labels = requiredLabels.map(labelKey).sort();
  const assignee = typeof provider.assignee === 'string' ? ` of ${provider.assignee}` : '';
  return `the issues of ${scope}${assignee}${labels.length === 0 ? '' : ` with the labels ${labels.join(', ')}`}`;
}

/**
 * Locks of a daemon in one folder. They outlive the closing of its other resources, so that no other daemon comes in
 * between when it is opened again, and those of new settings are taken before the old ones are released.
 */
export class DaemonLocks {
  readonly #held = new Map<string, Locks>();

  constructor(
    private readonly dir: string,
    private readonly holder: LockHolder,
  ) {}

  /** Takes those that are not held yet, all or none. Throws `already_running`. */
  async take(keys: readonly string[]): Promise<void> {
    const missing = keys.filter((key) => !this.#held.has(key));
    if (missing.length === 0) return;
    const locks = await takeLocks({ keys: missing, dir: this.dir, holder: this.holder });
    for (const key of missing) this.#held.set(key, locks);
  }

  async keepOnly(keys: readonly string[]): Promise<void> {
    for (const [key, locks] of this.#held) {
      if (keys.includes(key)) continue;
      this.#held.delete(key);
      await locks.release([key]);
    }
  }
}
