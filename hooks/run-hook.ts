import type { Clock } from '../src/domain/clock.js';
import type { HookName } from '../src/domain/config.js';
import { BatonError, toBatonError } from '../src/domain/errors.js';

/** A hook's process, as far as it matters here; `Stopped` is what its `stop()` tells about what is left of the tree. */
interface HookProcess<Stopped> {
  /** Settles when the script itself has ended. Never rejects. */
  readonly exited: Promise<HookStatus>;
  /** Ends the whole tree; safe after the exit. */
  stop(): Promise<Stopped>;
}

interface HookStatus {
  readonly code: number | null;
  readonly signal: string | null;
}

interface HookOutput {
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
  readonly status: HookStatus;
}

interface HookRequest<Process extends HookProcess<Stopped>, Stopped> {
  readonly name: HookName;
  readonly script: string;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Starts the script, contained, in the workspace, with its environment. */
  spawn(script: string): Promise<Process>;
  /** Reads the output, bounded in size, and settles soon after the script's end even when somebody holds its stdout. */
  capture(process: Process): Promise<HookOutput>;
}

/** `stopped` is null when there never was a process. */
type HookResult<Stopped> =
  | { readonly outcome: 'ok'; readonly output: HookOutput; readonly stopped: Stopped }
  | {
      readonly outcome: 'failed' | 'timeout';
      readonly error: BatonError;
      readonly output: HookOutput | null;
      readonly stopped: Stopped | null;
    }
  | { readonly outcome: 'cancelled'; readonly output: HookOutput | null; readonly stopped: Stopped | null };

/**
 * Runs one lifecycle script to its end, its timeout or the abort of its run, whichever comes first, and returns once every
 * process of it is gone: what it left in the background ends with it. Never throws.
 */
export async function runHook<Process extends HookProcess<Stopped>, Stopped>(
  request: HookRequest<Process, Stopped>,
): Promise<HookResult<Stopped>> {
  if (request.signal.aborted) return { outcome: 'cancelled', output: null, stopped: null };
  let process: Process;
  try {
    process = await request.spawn(request.script);
  } catch (error) {
    return { outcome: 'failed', error: toBatonError(error, 'spawn_failed'), output: null, stopped: null };
  }
  const captured = settled(request.capture(process));
  const ended = await firstEnd(process, captured, request);
  const stopped = await process.stop();
  const result = await captured;
  if (ended === 'aborted') return { outcome: 'cancelled', output: result.output, stopped };
  if (ended === 'timeout') return { outcome: 'timeout', error: timeoutError(request), output: result.output, stopped };
  if (result.output === null) return { outcome: 'failed', error: result.error, output: null, stopped };
  if (result.output.status.code === 0) return { outcome: 'ok', output: result.output, stopped };
  return { outcome: 'failed', error: failureError(request.name, result.output), output: result.output, stopped };
}

type Captured = { readonly output: HookOutput } | { readonly output: null; readonly error: BatonError };

/** Handled from the first moment, so that it can be awaited later without an unhandled rejection in between. */
function settled(capture: Promise<HookOutput>): Promise<Captured> {
  return capture.then(
    (output) => ({ output }),
    (error: unknown) => ({ output: null, error: toBatonError(error) }),
  );
}

function firstEnd<Process extends HookProcess<Stopped>, Stopped>(
  process: Process,
  captured: Promise<Captured>,
  { clock, timeoutMs, signal }: HookRequest<Process, Stopped>,
): Promise<'ended' | 'timeout' | 'aborted'> {
  return new Promise((resolve) => {
    const onAbort = () => settle('aborted');
    const cancelTimer = clock.after(timeoutMs, () => settle('timeout'));
    const settle = (end: 'ended' | 'timeout' | 'aborted') => {
      cancelTimer();
      signal.removeEventListener('abort', onAbort);
      resolve(end);
    };
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) settle('aborted'); // while it was being spawned
    // A script that made it in time did so, however long its output takes to drain.
    void process.exited.then(cancelTimer);
    void captured.then(() => settle('ended'));
  });
}

function timeoutError({ name, timeoutMs }: { readonly name: HookName; readonly timeoutMs: number }): BatonError {
  return new BatonError(
    'hook_timeout',
    `hook ${name} ran past ${timeoutMs} ms and was ended with everything it had started: make it faster, or raise hooks.timeout_ms`,
    { hook: name, timeoutMs },
  );
}

function failureError(name: HookName, { status, stdout, stderr }: HookOutput): BatonError {
  const how = status.code === null ? `was ended by ${status.signal ?? 'a signal'}` : `exited with code ${status.code}`;
  const tail = lastLines(stderr) || lastLines(stdout);
  const message = `hook ${name} ${how}${tail === '' ? ' and printed nothing' : `:\n${tail}`}`;
  return new BatonError('hook_failed', message, { hook: name, exitCode: status.code, signal: status.signal });
}

function lastLines(text: string): string {
  return text.trimEnd().split('\n').slice(-5).join('\n').slice(-2000);
}

/** What a hook that fails or runs out of time does to what it belongs to. */
const ON_FAILURE = {
  after_create: 'abort',
  before_run: 'abort',
  after_run: 'ignore',
  before_remove: 'ignore',
} as const satisfies { readonly [name in HookName]: 'abort' | 'ignore' };

/** Otherwise the failure is logged, and nothing else changes. */
export function abortsOnFailure(name: HookName): boolean {
  return ON_FAILURE[name] === 'abort';
}
