import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import { readBootId, reap, survivorsOf } from '../runner/contain/reap.js';
import { OpenRuns } from '../runner/open-runs.js';
import type { Store } from './domain/ports.js';

export interface ReapedRuns {
  readonly openRuns: OpenRuns;
  /** Pids of a run of an earlier daemon that outlive SIGKILL. */
  survivors(runId: string): Promise<readonly number[]>;
}

/**
 * Ends every process that an earlier daemon on this state directory left, before anything else happens. We hold the lock of the
 * directory, so that daemon is dead.
 */
export async function reapEarlier(store: Store, stateDir: string, log: Logger): Promise<ReapedRuns> {
  const daemonMarker = createHash('sha256').update(stateDir).digest('hex').slice(0, 16);
  const [left, bootId] = await Promise.all([store.openRuns.all(), readBootId()]);
  const options = { daemonMarker, openRuns: left, bootId };
  const { killed, survivors } = await reap(options);
  if (killed > 0) log.warn({ processes: killed }, 'ended processes that an earlier daemon left');
  for (const [marker, pids] of survivors)
    log.error({ marker, pids }, 'processes of an earlier daemon outlive SIGKILL, look for a hung disk or device');
  return {
    openRuns: new OpenRuns(
      {
        store: store.openRuns,
        daemonMarker,
        bootId,
        onTrouble: ({ message }) => log.warn({ detail: message }, 'what a run has under way could not be noted down'),
      },
      left,
    ),
    // Without survivors there is nothing to look for: that is almost always, and a look reads all of /proc.
    survivors: async (runId) => (survivors.has(runId) ? survivorsOf(options, runId) : []),
  };
}
