import { randomUUID } from 'node:crypto';
import { lstat, realpath } from 'node:fs/promises';
import { captureOutput } from '../../runner/contain/capture-output.js';
import type { Containment } from '../../runner/contain/process.js';
import { spawnContained } from '../../runner/contain/spawn-contained.js';
import { toBatonError } from '../domain/errors.js';

const TIME_LIMIT_MS = 15_000;
const MARK = 'baton-asks-the-login-shell';

/** What `bash -lc` makes of an environment: profiles add variables, and often another PATH. */
export interface LoginShell {
  /** What `command -v` answered; empty when it found nothing. */
  readonly found: string;
  readonly searchPath: string;
  /** Names only: values may be secrets. */
  readonly variables: ReadonlySet<string>;
}

interface LoginShellRequest {
  /** One shell word as written, free of anything that runs a command; `null` to look for none. */
  readonly word: string | null;
  readonly env: { readonly [name: string]: string };
  readonly unset: readonly string[];
  readonly cwd: string;
}

/** Asks the shell that agents and hooks get. A string: why there is no answer. */
export async function readLoginShell(
  { word, env, unset, cwd }: LoginShellRequest,
  containment: Containment,
): Promise<LoginShell | string> {
  const lookUp = word === null ? '' : `$(command -v -- ${word})`;
  const script = `printf '%s\\0' ${MARK} "${lookUp}" "$PATH"; compgen -v`;
  const result = await runShell({ bash: { login: script, unset }, env, cwd, timeoutMs: TIME_LIMIT_MS }, containment);
  if (result.ended === 'not_started') return `bash could not be started: ${result.message}`;
  if (result.ended === 'timeout') return `the login shell did not answer within ${TIME_LIMIT_MS / 1000} s`;
  // Before the mark is whatever the profile printed.
  const [, answer] = result.stdout.split(`${MARK}\0`);
  const [found, searchPath, names] = answer?.split('\0') ?? [];
  if (found === undefined || searchPath === undefined || names === undefined) {
    return `the login shell ended (${result.code ?? 'by a signal'}) before it ran anything`;
  }
  return { found: found.trim(), searchPath, variables: new Set(names.split('\n').filter((name) => name !== '')) };
}

const MAX_OUTPUT_BYTES = 256 * 1024;
const DRAIN_MS = 500;

interface ShellRequest {
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
  return spawnContained({ ...common, file: containment.bash, args: bash }, containment);
}
