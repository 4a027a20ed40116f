import type { Clock } from '../../../src/domain/clock.js';
import { BatonError } from '../../../src/domain/errors.js';
import { type CapturedOutput, captureOutput } from '../../contain/capture-output.js';
import type { ContainedProcess, StopLadder } from '../../contain/process.js';
import { EnvelopePipe } from './envelope-pipe.js';

/** Of each stream; the rest is read and dropped. */
const MAX_OUTPUT_BYTES = 65_536;
const DRAIN_MS = 500;
/** An executor that prints without end is not heard more often than this. */
const ACTIVITY_EVERY_MS = 1_000;

export interface ChildReport extends CapturedOutput {
  /** It was told to end before it did. */
  readonly wasAborted: boolean;
  readonly envelopeWasRead: boolean;
  readonly durationMs: number;
}

export interface ChildOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called at the start and when it prints, not for every piece. */
  onActivity?(): void;
  /** Gives the child its input. */
  deliver(pipe: EnvelopePipe): void;
  readonly stopLadder?: Partial<StopLadder>;
}

/** Gives a child its input and waits for its end, or ends it. Nothing of it is alive afterwards. */
export async function runChild(process: ContainedProcess, options: ChildOptions): Promise<ChildReport> {
  const { clock, signal, deliver, onActivity = () => {} } = options;
  // It has had the end of its stdin already: no reason to wait for what it makes of that.
  const stop = () => process.stop({ eofMs: 0, ...options.stopLadder });
  const startedMs = clock.now().awakeMs;
  let pipe: EnvelopePipe | null = null;
  try {
    if (process.stdin === null) throw new BatonError('internal_error', 'an executor was started without a stdin');
    pipe = new EnvelopePipe(process.stdin);
    hear(process, clock, onActivity);
    deliver(pipe);
    const captured = captureOutput(process, { maxBytes: MAX_OUTPUT_BYTES, clock, drainMs: DRAIN_MS });
    const wasAborted = (await firstEnd(process, signal)) === 'aborted';
    const durationMs = Math.round(clock.now().awakeMs - startedMs);
    if (wasAborted) await stop();
    const output = await captured;
    await stop();
    return { ...output, wasAborted, durationMs, envelopeWasRead: !wasAborted && (await pipe.wasRead(clock)) };
  } finally {
    await stop();
    pipe?.close();
  }
}

function hear({ stdout, stderr }: ContainedProcess, clock: Clock, onActivity: () => void): void {
  let heardMs = clock.now().awakeMs;
  onActivity();
  const tick = () => {
    const nowMs = clock.now().awakeMs;
    if (nowMs - heardMs < ACTIVITY_EVERY_MS) return;
    heardMs = nowMs;
    onActivity();
  };
  stdout.on('data', tick);
  stderr.on('data', tick);
}

/** Who made it to the end in time did so, however long its output takes to drain. */
function firstEnd(process: ContainedProcess, signal: AbortSignal): Promise<'exited' | 'aborted'> {
  return new Promise((resolve) => {
    const onAbort = () => resolve('aborted');
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort(); // while it was being started
    void process.exited.then(() => {
      signal.removeEventListener('abort', onAbort);
      resolve('exited');
    });
  });
}
