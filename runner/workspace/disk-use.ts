import { randomUUID } from 'node:crypto';
import { pause } from '../../src/domain/clock.js';
import { BatonError, toBatonError } from '../../src/domain/errors.js';
import { captureOutput } from '../contain/capture-output.js';
import { spawnContained } from '../contain/spawn-contained.js';
import { SYSTEM_PATH } from '../contain/start-process.js';
import type { RunContext } from '../run-context.js';

const INTERVAL_MS = 60_000;
/** A measurement of a large workspace must not follow the last one at once. */
const PAUSES_PER_MEASUREMENT = 20;
const MEASURE_LIMIT_MS = 600_000;
const MAX_OUTPUT_BYTES = 4_000;
const DRAIN_MS = 1_000;

type WatchedRun = Pick<RunContext, 'runId' | 'config' | 'services' | 'workspace' | 'tmpDir' | 'warn'>;

/** Watches the disk use of a run. Calls back once when it exceeds `workspace.max_mb`; `end` returns the error then. */
export function watchDiskUse(run: WatchedRun, onTooLarge: () => void): { end(): Promise<BatonError | null> } {
  const controller = new AbortController();
  const { maxMb } = run.config.workspace;
  const watching = maxMb === null ? Promise.resolve(null) : watch(run, maxMb, onTooLarge, controller.signal);
  return {
    end() {
      controller.abort();
      return watching;
    },
  };
}

async function watch(
  run: WatchedRun,
  maxMb: number,
  onTooLarge: () => void,
  signal: AbortSignal,
): Promise<BatonError | null> {
  const { clock } = run.services;
  let waitMs = INTERVAL_MS;
  let hasWarned = false;
  for (;;) {
    await pause(clock, waitMs, signal);
    if (signal.aborted) return null;
    const startedAtMs = clock.now().awakeMs;
    const { usedMb, complaint } = await measure(run, signal).catch(asComplaint);
    if (signal.aborted) return null;
    waitMs = Math.max(INTERVAL_MS, (clock.now().awakeMs - startedAtMs) * PAUSES_PER_MEASUREMENT);
    if (complaint !== '' && !hasWarned) {
      hasWarned = true;
      run.warn('the disk use of a run could not be measured completely', { detail: complaint });
    }
    if (usedMb !== null && usedMb > maxMb) {
      onTooLarge();
      const message = `${run.workspace.path} and the TMPDIR of the run take ${usedMb} MB, and workspace.max_mb is ${maxMb}; clean the workspace up, or raise the limit`;
      return new BatonError('workspace_too_large', message, { usedMb, maxMb });
    }
  }
}

/** `complaint`: what could not be measured, in the words of `du`. */
interface DiskUse {
  readonly usedMb: number | null;
  readonly complaint: string;
}

/**
 * Runs `du` instead of reading the folders itself: a workspace can have a million files, and the daemon has one thread. Links are not
 * followed, hard links are counted once, and other file systems are left out. A marker of its own keeps it out of the run's limits.
 */
async function measure({ services, workspace, tmpDir }: WatchedRun, signal: AbortSignal): Promise<DiskUse> {
  const { clock, containment, workspaces } = services;
  await workspaces.verify(workspace);
  const du = await spawnContained(
    {
      marker: `disk-use-${randomUUID()}`,
      file: 'du',
      args: ['-skxc', '--', '.', tmpDir],
      cwd: workspace.path,
      identity: workspace.identity,
      env: { PATH: SYSTEM_PATH, LC_ALL: 'C' },
      stdin: 'ignore',
    },
    containment,
  );
  const stop = () => du.stop({ eofMs: 0, termMs: 0 });
  const cancelLimit = clock.after(MEASURE_LIMIT_MS, stop);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) void stop();
  try {
    const { stdout, stderr, status } = await captureOutput(du, {
      maxBytes: MAX_OUTPUT_BYTES,
      clock,
      drainMs: DRAIN_MS,
    });
    const [, total] = /^(\d+)\s+total$/m.exec(stdout) ?? [];
    const ending = total === undefined ? `du ended with ${status.code ?? status.signal}` : '';
    return {
      usedMb: total === undefined ? null : Math.ceil(Number(total) / 1024),
      complaint: [ending, stderr.trim()].filter((part) => part !== '').join(': '),
    };
  } finally {
    cancelLimit();
    signal.removeEventListener('abort', stop);
    await stop();
  }
}

function asComplaint(error: unknown): DiskUse {
  return { usedMb: null, complaint: toBatonError(error).message };
}
