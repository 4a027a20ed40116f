import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../src/domain/clock.js';
import { toBatonError } from '../src/domain/errors.js';
import { withinLimit } from '../src/domain/time-limit.js';
import { MarkerSweep } from './contain/marker-sweep.js';
import type { RunObserver } from './run-observer.js';

const LIMIT_MS = 5_000;
const LOOK_EVERY_MS = 20;

/**
 * A check on top: each process of the run was stopped by whoever started it, and nothing should be left. What carries the run's
 * marker all the same is killed and told. Never throws; a /proc that does not answer proves nothing and holds nothing up.
 */
export async function lastLook(runId: string, clock: Clock, observer: Pick<RunObserver, 'warned'>): Promise<void> {
  const sweep = new MarkerSweep(runId);
  const look = async (signal: AbortSignal) => {
    let left = await sweep.find();
    if (left.length === 0) return;
    observer.warned(runId, 'processes of the run were found after its end, killing them', {
      pids: left.map(({ pid }) => pid),
    });
    while (left.length > 0 && !signal.aborted) {
      await sweep.signal('SIGKILL');
      await pause(LOOK_EVERY_MS);
      left = await sweep.find();
    }
  };
  await withinLimit(clock, LIMIT_MS, look, () => new Error(`it took longer than ${LIMIT_MS} ms`)).catch((error) =>
    observer.warned(runId, 'it cannot be told whether processes of the run are left', {
      detail: toBatonError(error).message,
    }),
  );
}
