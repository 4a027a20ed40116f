import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import { runOf } from '../../orchestrator/state.js';
import { readBootId, reap, stillAlive } from '../../runner/contain/reap.js';
import { OpenRuns } from '../../runner/open-runs.js';
import type { Durable } from '../domain/durable.js';
import type { Store } from '../domain/ports.js';

export interface ReapedRuns {
  readonly openRuns: OpenRuns;
  /** Pids of a run of an earlier daemon that outlive SIGKILL. */
  survivors(runId: string): Promise<readonly number[]>;
}

/**
 * Ends every process that an earlier daemon on this state directory left, before anything else happens. We hold the lock of the
 * directory, so that daemon is dead.
 */
export async function reapEarlier(
  store: Store,
  { claims }: Durable,
  stateDir: string,
  log: Logger,
): Promise<ReapedRuns> {
  const daemonMarker = createHash('sha256').update(stateDir).digest('hex').slice(0, 16);
  const [left, bootId] = await Promise.all([store.openRuns.all(), readBootId()]);
  const runMarkers = new Set(Object.values(claims).flatMap((claim) => runOf(claim)?.runId ?? []));
  const { killed, survivors } = await reap({ daemonMarker, runMarkers, openRuns: left, bootId });
  if (killed > 0) log.warn({ processes: killed }, 'ended processes that an earlier daemon left');
  for (const [marker, processes] of survivors)
    log.error(
      { marker, pids: processes.map(({ pid }) => pid) },
      'processes of an earlier daemon outlive SIGKILL, look for a hung disk or device',
    );
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
    survivors: (runId) => stillAlive(survivors.get(runId) ?? []),
  };
}
