import { setTimeout as pause } from 'node:timers/promises';
import { type Clock, withinLimit } from '../src/domain/clock.js';
import { toBatonError } from '../src/domain/errors.js';
import { MarkerSweep } from './contain/marker-sweep.js';
import type { Containment } from './contain/process.js';
import type { RunObserver } from './run-observer.js';

const LIMIT_MS = 5_000;
const INTERVAL_MS = 20;
const NAMESPACE_CHECK_MS = 10 * 60_000;

/**
 * Ends what is left of a run that began at `startedTicks`. A second check: the code that started a process has stopped it, so nothing should
 * be left. Never throws; a /proc that does not answer delays nothing.
 *
 * In a namespace the kernel has ended everything. So one run in ten minutes is checked, in the background: reading the environments of all
 * processes keeps the threads busy that read and write files for other runs.
 */
export function createLeftoverCheck(containment: Containment, observer: Pick<RunObserver, 'warned'>) {
  const { clock } = containment;
  let checkedAtMs = Number.NEGATIVE_INFINITY;
  return async (runId: string, startedTicks: number): Promise<void> => {
    if (containment.kind === 'none') return endLeftovers(runId, startedTicks, clock, observer);
    const nowMs = clock.now().awakeMs;
    if (nowMs - checkedAtMs < NAMESPACE_CHECK_MS) return;
    checkedAtMs = nowMs;
    void endLeftovers(runId, startedTicks, clock, observer); // Never throws.
  };
}

async function endLeftovers(
  runId: string,
  since: number,
  clock: Clock,
  observer: Pick<RunObserver, 'warned'>,
): Promise<void> {
  const sweep = new MarkerSweep(runId, { since });
  const killAll = async (signal: AbortSignal) => {
    let left = await sweep.find();
    if (left.length === 0) return;
    const pids = left.map(({ pid }) => pid);
    observer.warned(runId, 'processes of the run were found after its end, killing them', { pids });
    while (left.length > 0 && !signal.aborted) {
      await sweep.signal('SIGKILL');
      await pause(INTERVAL_MS);
      left = await sweep.find();
    }
  };
  const onLate = () => new Error(`it took longer than ${LIMIT_MS} ms`);
  await withinLimit(clock, LIMIT_MS, killAll, onLate).catch((error) =>
    observer.warned(runId, 'the search for processes of the run failed', {
      detail: toBatonError(error).message,
    }),
  );
}
