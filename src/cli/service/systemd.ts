import { detectContainment } from '../../../runner/contain/detect-containment.js';
import { environmentFor } from '../../../runner/environment.js';
import { createClock } from '../../clock.js';
import { BatonError } from '../../domain/errors.js';
import type { Io } from '../io.js';
import { runShell } from '../run-shell.js';
import type { Scope } from './unit-name.js';

const ASK_LIMIT_MS = 30_000;
/** Longer than a unit of ours may take to start, and to stop. */
const ACT_LIMIT_MS = 1_800_000;

export interface ProgramResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The programs of systemd, as this person can call them. */
export interface SystemdPrograms {
  /** Runs a program that may fail. */
  ask(program: string, ...args: readonly string[]): Promise<ProgramResult>;
  /** Runs systemctl for this scope. Throws `service_failed` when it fails. */
  act(...args: readonly string[]): Promise<void>;
}

/** Gives `use` the programs, and leaves nothing running. */
export async function withSystemd<T>(scope: Scope, io: Io, use: (programs: SystemdPrograms) => Promise<T>): Promise<T> {
  const clock = createClock();
  try {
    const containment = await detectContainment({ isolation: 'none', hide: [], clock });
    const env = systemdEnvironment(io);
    const call = async (program: string, args: readonly string[], timeoutMs: number): Promise<ProgramResult> => {
      const request = { bash: ['-c', 'exec "$@"', 'baton', program, ...args], env, cwd: '/', timeoutMs };
      const result = await runShell(request, containment);
      if (result.ended === 'exited') return result;
      const why = result.ended === 'timeout' ? `it took longer than ${timeoutMs / 1000} s` : result.message;
      throw new BatonError('service_failed', `${program} ${args.join(' ')}: ${why}`);
    };
    return await use({
      ask: (program, ...args) => call(program, args, ASK_LIMIT_MS),
      async act(...args) {
        const all = systemctlArgs(scope, args);
        const { code, stderr } = await call('systemctl', ['--no-ask-password', ...all], ACT_LIMIT_MS);
        if (code === 0) return;
        throw new BatonError('service_failed', `systemctl ${all.join(' ')} failed (${code}): ${stderr.trim()}`);
      },
    });
  } finally {
    clock.close();
  }
}

/** The arguments of systemctl, and of journalctl, for a scope. */
export function systemctlArgs(scope: Scope, args: readonly string[]): readonly string[] {
  return scope === 'user' ? ['--user', ...args] : args;
}

/** For programs that talk to systemd and whose answers we read. */
export function systemdEnvironment(io: Io): { readonly [name: string]: string } {
  const uid = process.getuid?.() ?? 0;
  const { env } = environmentFor('hook', {
    // After `su` it is not set, though the systemd of the user may well be there.
    base: { XDG_RUNTIME_DIR: `/run/user/${uid}`, ...io.env },
    policy: 'allowlist',
    allow: [],
    hookAllow: [],
    secretNames: [],
    extra: { LC_ALL: 'C.UTF-8', SYSTEMD_COLORS: '0', SYSTEMD_PAGER: '', SYSTEMD_URLIFY: '0' },
  });
  return env;
}
