import type { ContainedProcess, ExitStatus } from './process.js';
import { type DrainOptions, drain } from './bounded-drain.js';

export interface CapturedOutput {
  readonly stdout: string;
  readonly stderr: string;
  /** Something was left out in the middle of either. */
  readonly truncated: boolean;
  readonly status: ExitStatus;
}

/**
 * Waits for the command's end and returns what it printed, at most `maxBytes` of each stream. A process left behind
 * that holds the streams open delays it by `drainMs` at most. Stop the process afterwards, as always. Never rejects.
 */
export async function captureOutput(process: ContainedProcess, options: DrainOptions): Promise<CapturedOutput> {
  const [stdout, stderr, status] = await Promise.all([
    drain(process.stdout, process.exited, options),
    drain(process.stderr, process.exited, options),
    process.exited,
  ]);
  return { stdout: stdout.text, stderr: stderr.text, truncated: stdout.isCut || stderr.isCut, status };
}
