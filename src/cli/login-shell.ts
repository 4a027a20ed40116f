import type { Containment } from '../../runner/contain/process.js';
import { runShell } from './run-shell.js';

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

export interface LoginShellRequest {
  /** One shell word as written, free of anything that runs a command; `null` to look for none. */
  readonly word: string | null;
  readonly env: { readonly [name: string]: string };
  readonly unset: readonly string[];
  readonly cwd: string;
}

/** Asks the shell that agents and hooks get. A string: why there is no answer. */
export async function askLoginShell(
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
