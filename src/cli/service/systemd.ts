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
/** Longer than a unit of ours may take to start, and to stop. */
const ACT_LIMIT_MS = 1_800_000;

interface ProgramResult {
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

const INSTEAD =
  'What to do instead: `baton service install --dry-run` prints the unit, to be used elsewhere; `tmux new -d baton` keeps a daemon running without a service; a line for `baton --once` in the crontab works issues off at set times';

/** Throws `service_failed` with what to do when there is no systemd that could run a service. */
export async function refuseWithoutSystemd(scope: Scope, programs: SystemdPrograms): Promise<void> {
  const { code, stdout } = await programs.ask('systemctl', ...systemctlArgs(scope, ['is-system-running']));
  if (code === 127) {
    throw new BatonError('service_failed', `there is no systemd here: systemctl is not on the PATH. ${INSTEAD}`);
  }
  // It fails for `degraded` too, which only means that some other unit has failed.
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
    'the systemd of this user cannot be reached. It runs while the user is logged in (sudo and su are no login), or always after `sudo loginctl enable-linger "$USER"`. As a service of the machine: `sudo baton service install --system --run-as <user>`',
  );
}

async function isSystemRunning(programs: SystemdPrograms): Promise<boolean> {
  const { stdout } = await programs.ask('systemctl', 'is-system-running');
  return stdout.trim() !== '' && stdout.trim() !== 'offline' && stdout.trim() !== 'unknown';
}

interface RunAs {
  /** For `User=`; `null` in a unit of the user, which runs as nobody else. */
  readonly user: string | null;
  readonly homeDir: string;
}

/** Who a service runs as. Never root by chance: agents would be root. Throws `service_failed`. */
export async function chooseRunAs(scope: Scope, asked: string | undefined, io: Io): Promise<RunAs> {
  if (scope === 'user') return { user: null, homeDir: io.homeDir };
  const user = asked ?? (io.env.SUDO_USER === 'root' ? undefined : io.env.SUDO_USER);
  if (user === undefined || user === '') {
    throw new BatonError(
      'service_failed',
      'say who the service runs as with --run-as <user>: its agents will have the rights of that user. An own user for it is best; --run-as root is possible',
    );
  }
  const { code, stdout } = await withSystemd(scope, io, (programs) => programs.ask('getent', 'passwd', '--', user));
  const [name = '', , , , , homeDir = ''] = stdout.trim().split(':');
  if (code === 0 && name !== '' && homeDir.startsWith('/')) return { user: name, homeDir };
  throw new BatonError(
    'service_failed',
    `there is no user ${user}. Make one (sudo useradd --create-home ${user}), or name another`,
  );
}

/** Throws `service_failed` where only root could go on. `call`: what was typed. */
export function refuseWithoutRoot(scope: Scope, call: string): void {
  if (scope === 'user' || process.geteuid?.() === 0) return;
  const message = `services of the machine are a matter of root: sudo ${call} --system. Without --system it is about your own`;
  throw new BatonError('service_failed', message);
}

/** A unit that we wrote. */
export interface OurUnit {
  readonly name: string;
  readonly path: string;
  readonly text: string;
  readonly mark: UnitMark;
}

/** What is where a unit would be: `null` for nothing, `foreign` for what we did not write. */
export async function readUnit(places: ServicePlaces, name: string): Promise<OurUnit | 'foreign' | null> {
  const path = unitPath(places, name);
  try {
    // A link, as of a unit that is masked, leads to somebody else's file.
    if (!(await lstat(path)).isFile()) return 'foreign';
    const text = await readFile(path, 'utf8');
    const mark = readMark(text);
    return mark === null ? 'foreign' : { name, path, text, mark };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new BatonError('service_failed', `${path} cannot be read: ${(error as Error).message}`, {}, { cause: error });
  }
}

/** All units of ours in a folder, by name. */
export async function ourUnits(places: ServicePlaces): Promise<readonly OurUnit[]> {
  const files = await readdir(places.units).catch(() => []);
  const names = files.map(serviceNameOf).filter((name) => name !== null);
  const units = await Promise.all(names.sort().map((name) => readUnit(places, name).catch(() => null)));
  return units.filter((unit): unit is OurUnit => unit !== null && unit !== 'foreign');
}

interface UnitChoice {
  readonly name: string | undefined;
  readonly workflowPath: string;
  readonly cwd: string;
}

/** The unit that a command means: by its name, or by its workflow. Throws `service_failed`. */
export async function chooseUnit(places: ServicePlaces, { name, workflowPath, cwd }: UnitChoice): Promise<OurUnit> {
  const all = await ourUnits(places);
  const isNone = all.length === 0;
  const known = isNone
    ? `there are none in ${places.units} (services of the machine are found with --system)`
    : `there are: ${all.map((unit) => unit.name).join(', ')}`;
  if (name !== undefined) {
    const found = await readUnit(places, name);
    if (found !== null && found !== 'foreign') return found;
    if (found === null) throw new BatonError('service_failed', `there is no service ${name}; ${known}`);
    throw new BatonError('service_failed', `${unitPath(places, name)} was not written by Baton, so it is left alone`);
  }
  const path = resolve(cwd, workflowPath);
  const real = await realpath(path).catch(() => path);
  const [first, ...others] = all.filter(({ mark }) => mark.workflow === real);
  const shown = shorter(path, cwd);
  if (!first) {
    const next = isNone ? '`baton service install` makes one' : 'Choose one with --name';
    throw new BatonError('service_failed', `there is no service for ${shown}; ${known}. ${next}`);
  }
  if (others.length === 0) return first;
  const names = [first, ...others].map((unit) => unit.name).join(', ');
  throw new BatonError('service_failed', `${shown} has several services: ${names}. Choose one with --name`);
}

/** Where the files of services are. */
export interface ServicePlaces {
  readonly units: string;
  /** Variables of services, secrets among them. */
  readonly variables: string;
}

interface PlaceFacts {
  readonly env: NodeJS.ProcessEnv;
  readonly homeDir: string;
  /** `/etc`; tests have another. */
  readonly etcDir?: string | undefined;
}

export function placesOf(scope: Scope, { env, homeDir, etcDir = '/etc' }: PlaceFacts): ServicePlaces {
  if (scope === 'system') return { units: join(etcDir, 'systemd', 'system'), variables: join(etcDir, 'baton') };
  const units = join(configBase(env, homeDir), 'systemd', 'user');
  return { units, variables: defaultConfigDir(env, homeDir) };
}

export function unitPath(places: ServicePlaces, name: string): string {
  return join(places.units, unitNameOf(name));
}

export function variablesPath(places: ServicePlaces, name: string): string {
  return join(places.variables, `${name}.env`);
}

/** The arguments of journalctl for the log of a unit, as the daemon wrote it. */
export function journalArgs(scope: Scope, unit: string, lines: number): readonly string[] {
  return [...systemctlArgs(scope, ['--unit', unit]), `--lines=${lines}`, '--output=cat', '--no-pager', '--quiet'];
}

/** The last lines of a log for people; none when there is no log to be read. */
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

/** A line of the daemon as it is on a terminal; what systemd or Node says between them as it is. */
export function logLine(line: string, options: { readonly colour: boolean }): string {
  if (!line.startsWith('{"level":')) return neutralise(line);
  try {
    return formatPretty(line, options).trimEnd();
  } catch {
    return neutralise(line);
  }
}
