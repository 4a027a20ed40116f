import { randomUUID } from 'node:crypto';
import { lstat, realpath } from 'node:fs/promises';
import { captureOutput } from '../../runner/contain/capture-output.js';
import { runContained } from '../../runner/contain/run-contained.js';
import { spawnContained } from '../../runner/contain/spawn-contained.js';
import type { Containment } from '../../runner/contain/process.js';
import { toBatonError } from '../domain/errors.js';

const MAX_OUTPUT_BYTES = 256 * 1024;
const DRAIN_MS = 500;

export interface ShellRequest {
  /** `login`: as the daemon starts agents and hooks, by `bash -lc`. A list: plain arguments of bash. */
  readonly bash: { readonly login: string; readonly unset: readonly string[] } | readonly string[];
  readonly env: { readonly [name: string]: string };
  readonly cwd: string;
  readonly timeoutMs: number;
}

export type ShellResult =
  | { readonly ended: 'exited'; readonly code: number | null; readonly stdout: string; readonly stderr: string }
  | { readonly ended: 'timeout' }
  | { readonly ended: 'not_started'; readonly message: string };

/** Runs bash once, bounded in time and output; nothing of it is alive afterwards. Never throws. */
export async function runShell(request: ShellRequest, containment: Containment): Promise<ShellResult> {
  try {
    const child = await start(request, containment);
    let isLate = false;
    const cancel = containment.clock.after(request.timeoutMs, () => {
      isLate = true;
      void child.stop({ termMs: 500 }); // Awaited below, with its result.
    });
    try {
      const options = { maxBytes: MAX_OUTPUT_BYTES, clock: containment.clock, drainMs: DRAIN_MS };
      const { stdout, stderr, status } = await captureOutput(child, options);
      return isLate ? { ended: 'timeout' } : { ended: 'exited', code: status.code, stdout, stderr };
    } finally {
      cancel();
      await child.stop({ termMs: 500 });
    }
  } catch (error) {
    return { ended: 'not_started', message: toBatonError(error).message };
  }
}

async function start({ bash, env, cwd }: ShellRequest, containment: Containment) {
  const folder = await realpath(cwd);
  const { dev, ino } = await lstat(folder);
  const common = { marker: `cli-${randomUUID()}`, cwd: folder, identity: { dev, ino }, env, stdin: 'ignore' } as const;
  if ('login' in bash) return spawnContained({ ...common, script: bash.login, unset: bash.unset }, containment);
  return runContained({ ...common, file: containment.bash, args: bash }, containment);
}
