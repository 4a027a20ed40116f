import { lstat, readdir, readFile, realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { detectContainment } from '../../../runner/contain/detect-containment.js';
import { environmentFor } from '../../../runner/environment.js';
import { createClock } from '../../clock.js';
import { BatonError } from '../../domain/errors.js';
import { formatPretty } from '../../logging/pretty.js';
import { configBase, defaultConfigDir } from '../../state-dir.js';
import { neutralise } from '../../text/neutralise.js';
import { type Io, shorter } from '../io.js';
import { runShell } from '../shell.js';
import { readMark, type Scope, serviceNameOf, type UnitMark, unitNameOf } from './unit-text.js';

const ASK_LIMIT_MS = 30_000;
/** Longer than the start and stop timeouts of our units. */
const ACT_LIMIT_MS = 1_800_000;

interface ProgramResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The programs of systemd, called as the current user. */
export interface SystemdPrograms {
  /** Runs a program that may fail. */
  ask(program: string, ...args: readonly string[]): Promise<ProgramResult>;
  /** Runs systemctl for this scope. Throws `service_failed` when it fails. */
  act(...args: readonly string[]): Promise<void>;
}

/** Passes the programs to `use` and leaves no process. */
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

/** The environment of the programs whose output is parsed. */
export function systemdEnvironment(io: Io): { readonly [name: string]: string } {
  const uid = process.getuid?.() ?? 0;
  const { env } = environmentFor('hook', {
    // It is not set after `su`, although the systemd of the user may be running.
    base: { XDG_RUNTIME_DIR: `/run/user/${uid}`, ...io.env },
    policy: 'allowlist',
    allow: ['XDG_RUNTIME_DIR', 'DBUS_SESSION_BUS_ADDRESS'],
    hookAllow: [],
    secretNames: [],
    extra: { LC_ALL: 'C.UTF-8', SYSTEMD_COLORS: '0', SYSTEMD_PAGER: '', SYSTEMD_URLIFY: '0' },
  });
  return env;
}

const INSTEAD =
  'Alternatives: `baton service install --dry-run` prints the unit for another machine; `tmux new -d baton` keeps a daemon running without a service; a crontab line with `baton --once` runs it at set times';

/** Throws `service_failed` with alternatives when there is no systemd that could run a service. */
export async function refuseWithoutSystemd(scope: Scope, programs: SystemdPrograms): Promise<void> {
  const { code, stdout } = await programs.ask('systemctl', ...systemctlArgs(scope, ['is-system-running']));
  if (code === 127) {
    throw new BatonError('service_failed', `there is no systemd here: systemctl is not on the PATH. ${INSTEAD}`);
  }
  // The exit code is not 0 for `degraded` either, which only means that some other unit has failed.
  if (/^(?:initializing|starting|running|degraded|maintenance|stopping)$/m.test(stdout)) return;
  const isBooted = scope === 'user' && (await isSystemRunning(programs));
  if (!isBooted) {
    throw new BatonError(
      'service_failed',
      `this machine was not started by systemd, so it runs no services. ${INSTEAD}`,
    );
  }
  throw new BatonError(
    'service_failed',
    'the systemd of this user cannot be reached. It runs while the user is logged in (sudo and su do not count as login), or always after `sudo loginctl enable-linger "$USER"`. As a service of the machine: `sudo baton service install --system --run-as <user>`',
  );
}

async function isSystemRunning(programs: SystemdPrograms): Promise<boolean> {
  const { stdout } = await programs.ask('systemctl', 'is-system-running');
  return stdout.trim() !== '' && stdout.trim() !== 'offline' && stdout.trim() !== 'unknown';
}

interface RunAs {
  /** For `User=`; null in a unit of the user. */
  readonly user: string | null;
  readonly homeDir: string;
}

/** The user of a service. Root must be named, since agents would be root, too. Throws `service_failed`. */
export async function chooseRunAs(scope: Scope, asked: string | undefined, io: Io): Promise<RunAs> {
  if (scope === 'user') return { user: null, homeDir: io.homeDir };
  const user = asked ?? (io.env.SUDO_USER === 'root' ? undefined : io.env.SUDO_USER);
  if (user === undefined || user === '') {
    throw new BatonError(
      'service_failed',
      'name the user of the service with --run-as <user>: its agents have the rights of that user. A separate user is best; --run-as root is possible',
    );
  }
  const { code, stdout } = await withSystemd(scope, io, (programs) => programs.ask('getent', 'passwd', '--', user));
  const [name = '', , , , , homeDir = ''] = stdout.trim().split(':');
  if (code === 0 && name !== '' && homeDir.startsWith('/')) return { user: name, homeDir };
  throw new BatonError(
    'service_failed',
    `there is no user ${user}. Create one (sudo useradd --create-home ${user}), or name another`,
  );
}

/** Throws `service_failed` when root is required. `call` is the typed command. */
export function refuseWithoutRoot(scope: Scope, call: string): void {
  if (scope === 'user' || process.geteuid?.() === 0) return;
  const message = `services of the machine require root: sudo ${call} --system. Without --system the command is about your own services`;
  throw new BatonError('service_failed', message);
}

/** A unit that Baton wrote. */
export interface OurUnit {
  readonly name: string;
  readonly path: string;
  readonly text: string;
  readonly mark: UnitMark;
}

/** Null without a file, `foreign` for a file that Baton did not write. */
export async function readUnit(folders: ServiceFolders, name: string): Promise<OurUnit | 'foreign' | null> {
  const path = unitPath(folders, name);
  try {
    // A link, as of a masked unit, leads to a file that is not ours.
    if (!(await lstat(path)).isFile()) return 'foreign';
    const text = await readFile(path, 'utf8');
    const mark = readMark(text);
    return mark === null ? 'foreign' : { name, path, text, mark };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new BatonError('service_failed', `${path} cannot be read: ${(error as Error).message}`, {}, { cause: error });
  }
}

/** All our units in a folder, sorted by name. */
export async function ourUnits(folders: ServiceFolders): Promise<readonly OurUnit[]> {
  const files = await readdir(folders.units).catch(() => []);
  const names = files.map(serviceNameOf).filter((name) => name !== null);
  const units = await Promise.all(names.sort().map((name) => readUnit(folders, name).catch(() => null)));
  return units.filter((unit): unit is OurUnit => unit !== null && unit !== 'foreign');
}

interface UnitChoice {
  readonly name: string | undefined;
  readonly workflowPath: string;
  readonly cwd: string;
}

/** Finds a unit by its name or its workflow. Throws `service_failed`. */
export async function findUnit(folders: ServiceFolders, { name, workflowPath, cwd }: UnitChoice): Promise<OurUnit> {
  const all = await ourUnits(folders);
  const isNone = all.length === 0;
  const known = isNone
    ? `there are none in ${folders.units} (services of the machine are found with --system)`
    : `there are: ${all.map((unit) => unit.name).join(', ')}`;
  if (name !== undefined) {
    const found = await readUnit(folders, name);
    if (found !== null && found !== 'foreign') return found;
    if (found === null) throw new BatonError('service_failed', `there is no service ${name}; ${known}`);
    throw new BatonError('service_failed', `${unitPath(folders, name)} was not written by Baton, so it is left alone`);
  }
  const path = resolve(cwd, workflowPath);
  const real = await realpath(path).catch(() => path);
  const [first, ...others] = all.filter(({ mark }) => mark.workflow === real);
  const shown = shorter(path, cwd);
  if (!first) {
    const next = isNone ? '`baton service install` creates one' : 'Choose one with --name';
    throw new BatonError('service_failed', `there is no service for ${shown}; ${known}. ${next}`);
  }
  if (others.length === 0) return first;
  const names = [first, ...others].map((unit) => unit.name).join(', ');
  throw new BatonError('service_failed', `${shown} has several services: ${names}. Choose one with --name`);
}

/** The folders with the files of services. */
export interface ServiceFolders {
  readonly units: string;
  /** Files of variables, which contain secrets. */
  readonly variables: string;
}

interface FolderFacts {
  readonly env: NodeJS.ProcessEnv;
  readonly homeDir: string;
  /** `/etc`, except in tests. */
  readonly etcDir?: string | undefined;
}

export function serviceFolders(scope: Scope, { env, homeDir, etcDir = '/etc' }: FolderFacts): ServiceFolders {
  if (scope === 'system') return { units: join(etcDir, 'systemd', 'system'), variables: join(etcDir, 'baton') };
  const units = join(configBase(env, homeDir), 'systemd', 'user');
  return { units, variables: defaultConfigDir(env, homeDir) };
}

export function unitPath(folders: ServiceFolders, name: string): string {
  return join(folders.units, unitNameOf(name));
}

export function variablesPath(folders: ServiceFolders, name: string): string {
  return join(folders.variables, `${name}.env`);
}

/** The arguments of journalctl for the unformatted log of a unit. */
export function journalArgs(scope: Scope, unit: string, lines: number): readonly string[] {
  return [...systemctlArgs(scope, ['--unit', unit]), `--lines=${lines}`, '--output=cat', '--no-pager', '--quiet'];
}

/** The last lines of a log, formatted; none when the log cannot be read. */
export async function lastLogLines(
  scope: Scope,
  unit: string,
  count: number,
  programs: SystemdPrograms,
): Promise<readonly string[]> {
  const { code, stdout } = await programs.ask('journalctl', ...journalArgs(scope, unit, count));
  const lines = stdout.split('\n').filter((line) => line !== '');
  return code === 0 ? lines.slice(-count).map((line) => logLine(line, { colour: false })) : [];
}

/** Formats a log line of the daemon; lines of systemd and Node stay as they are. */
export function logLine(line: string, options: { readonly colour: boolean }): string {
  if (!line.startsWith('{"level":')) return neutralise(line);
  try {
    return formatPretty(line, options).trimEnd();
  } catch {
    return neutralise(line);
  }
}
