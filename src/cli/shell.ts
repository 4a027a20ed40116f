import { randomUUID } from 'node:crypto';
import { lstat, realpath } from 'node:fs/promises';
import { captureOutput } from '../../runner/contain/capture-output.js';
import type { Containment } from '../../runner/contain/process.js';
import { spawnContained } from '../../runner/contain/spawn-contained.js';
import { toBatonError } from '../domain/errors.js';

const TIME_LIMIT_MS = 15_000;
const MARK = 'baton-asks-the-login-shell';

/** The environment after `bash -lc` has read its profiles, which add variables and often change PATH. */
export interface LoginShell {
  /** The output of `command -v`; empty when the command was not found. */
  readonly found: string;
  readonly searchPath: string;
  /** Names only: values may be secrets. */
  readonly variables: ReadonlySet<string>;
}

interface LoginShellRequest {
  /** A command to look up, as a shell word without expansions that run commands; null to look up none. */
  readonly word: string | null;
  readonly env: { readonly [name: string]: string };
  readonly unset: readonly string[];
  readonly cwd: string;
}

/** Reads the environment of the shell that starts agents and hooks. Returns a string when that failed. */
export async function readLoginShell(
  { word, env, unset, cwd }: LoginShellRequest,
  containment: Containment,
): Promise<LoginShell | string> {
  const lookUp = word === null ? '' : `$(command -v -- ${word})`;
  const script = `printf '%s\\0' ${MARK} "${lookUp}" "$PATH"; compgen -v`;
  const result = await runShell({ bash: { login: script, unset }, env, cwd, timeoutMs: TIME_LIMIT_MS }, containment);
  if (result.ended === 'not_started') return `bash could not be started: ${result.message}`;
  if (result.ended === 'timeout') return `the login shell did not answer within ${TIME_LIMIT_MS / 1000} s`;
  // The profile may have printed text before the mark.
  const [, answer] = result.stdout.split(`${MARK}\0`);
  const [found, searchPath, names] = answer?.split('\0') ?? [];
  if (found === undefined || searchPath === undefined || names === undefined) {
    return `the login shell ended (${result.code ?? 'by a signal'}) before it ran a command`;
  }
  return { found: found.trim(), searchPath, variables: new Set(names.split('\n').filter((name) => name !== '')) };
}

const MAX_OUTPUT_BYTES = 256 * 1024;
const DRAIN_MS = 500;

interface ShellRequest {
  /** `login`: a script for `bash -lc`, as for agents and hooks. A list: plain arguments of bash. */
  readonly bash: { readonly login: string; readonly unset: readonly string[] } | readonly string[];
  readonly env: { readonly [name: string]: string };
  readonly cwd: string;
  readonly timeoutMs: number;
}

export type ShellResult =
  | { readonly ended: 'exited'; readonly code: number | null; readonly stdout: string; readonly stderr: string }
  | { readonly ended: 'timeout' }
  | { readonly ended: 'not_started'; readonly message: string };

/** Runs bash once with limits of time and output, and leaves no process. Never throws. */
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
  return spawnContained({ ...common, file: containment.bash, args: bash }, containment);
}
