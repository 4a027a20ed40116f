import type { Clock } from '../src/domain/clock.js';
import type { HookName } from '../src/domain/config.js';
import { BatonError, toBatonError } from '../src/domain/errors.js';

/** The process of a hook. `Stopped` is the result of `stop()`, which reports what is left of the process tree. */
interface HookProcess<Stopped> {
  /** Resolves when the script has ended. Never rejects. */
  readonly exited: Promise<HookStatus>;
  /** Ends the whole process tree. Can be called after the exit. */
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
  /** Starts the contained script in the workspace. */
  spawn(script: string): Promise<Process>;
  /** Reads the output up to a limit. Resolves soon after the script's end, even if another process holds its stdout. */
  capture(process: Process): Promise<HookOutput>;
}

/** `stopped` is null when no process was started. */
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
 * Runs a lifecycle script until it ends, times out or its run is aborted. Returns when all of its processes are gone, including
 * background processes. Never throws.
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

/** Handles a rejection at once, so that the promise can be awaited later. */
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
    if (signal.aborted) settle('aborted'); // aborted while the process was being started
    // The time to drain the output does not count towards the timeout.
    void process.exited.then(cancelTimer);
    void captured.then(() => settle('ended'));
  });
}

function timeoutError({ name, timeoutMs }: { readonly name: HookName; readonly timeoutMs: number }): BatonError {
  return new BatonError(
    'hook_timeout',
    `hook ${name} took longer than ${timeoutMs} ms and was ended with all of its processes: make it faster, or raise hooks.timeout_ms`,
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

/** The consequence of a failed hook. */
const ON_FAILURE = {
  after_create: 'abort',
  before_run: 'abort',
  after_run: 'ignore',
  before_remove: 'ignore',
} as const satisfies { readonly [name in HookName]: 'abort' | 'ignore' };

/** Otherwise the failure is only logged. */
export function abortsOnFailure(name: HookName): boolean {
  return ON_FAILURE[name] === 'abort';
}
