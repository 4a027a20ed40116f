import type { ChildProcess } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Duplex, Readable, type Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { execa } from 'execa';
import { BatonError, toBatonError } from '../../src/domain/errors.js';
import type { CommandLimits, ExitStatus, FixedFolder, HiddenDirectory } from './process.js';

/** A started process, in a separate session. */
export interface StartedProcess {
  readonly pid: number;
  readonly stdin: Writable | null;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** File descriptor 3 of the process, when `report` is set. */
  readonly report: Duplex | null;
  /** The Node.js IPC channel, when `channel` is set. */
  readonly channel: Duplex | null;
  readonly exited: Promise<ExitStatus>;
  hasExited(): boolean;
}

interface StartOptions {
  readonly cwd: string;
  /** A number: a descriptor of ours. */
  readonly stdin: 'pipe' | 'ignore' | number;
  readonly report: boolean;
  readonly channel: boolean;
}

/** Synchronous up to the spawn, so that nothing can change after the caller's last check. Throws `BatonError`. */
export async function startProcess(
  run: typeof execa,
  command: CommandLine,
  options: StartOptions,
): Promise<StartedProcess> {
  const { child } = await start(run, command, options);
  if (child.pid === undefined) throw spawnError(command, options.cwd, await child);
  return started(child, child.pid, options);
}

/**
 * A plain pipe replaces Node's own channel. The protocol is the same, JSON lines on the descriptor in this variable, but the size of
 * incoming lines can be bounded.
 */
function channelVariables({ report, channel }: StartOptions): { readonly [name: string]: string } {
  return channel ? { NODE_CHANNEL_FD: report ? '4' : '3', NODE_CHANNEL_SERIALIZATION_MODE: 'json' } : {};
}

const EXTRA_PIPES = ['pipe', 'pipe'] as const;

async function start(run: typeof execa, command: CommandLine, options: StartOptions) {
  // Without a free file descriptor Node creates a child without pipes. Execa throws, and the later 'error' event of the child would
  // end the daemon, because it has no listener.
  let failure: NodeJS.ErrnoException | null = null;
  const onChild = (message: unknown) =>
    (message as { readonly process: ChildProcess }).process.on('error', (error) => {
      failure = error;
    });
  try {
    // Subscribed only during the spawn: other children are created while we wait below.
    subscribe('child_process', onChild);
    // The types of execa know descriptors up to 9 only.
    const stdin = options.stdin as 'pipe' | 'ignore';
    const child = run(command.file, command.args, {
      cwd: options.cwd,
      env: { ...command.env, ...channelVariables(options) },
      extendEnv: false,
      detached: true,
      cleanup: false,
      buffer: false,
      reject: false,
      encoding: 'buffer',
      stdio: [stdin, 'pipe', 'pipe', ...EXTRA_PIPES.slice(0, Number(options.report) + Number(options.channel))],
    });
    unsubscribe('child_process', onChild);
    return { child };
  } catch (error) {
    unsubscribe('child_process', onChild);
    await setImmediate();
    throw toBatonError(failure ?? error, 'spawn_failed');
  }
}

function started(child: Pick<ChildProcess, 'once' | 'stdio'>, pid: number, options: StartOptions): StartedProcess {
  let exitSeen = false;
  const exited = new Promise<ExitStatus>((resolve) => {
    child.once('exit', (code, signal) => {
      exitSeen = true;
      resolve({ code, signal });
    });
  });
  const [stdin, stdout, stderr, third, fourth] = child.stdio;
  const report = options.report ? third : null;
  const channel = options.channel ? (options.report ? fourth : third) : null;
  // `exited` reports the end of the process; stream errors that come with it (EPIPE, ECONNRESET) are ignored.
  for (const stream of [stdin, stdout, stderr, third, fourth]) stream?.on('error', () => {});
  if (!(stdout instanceof Readable && stderr instanceof Readable)) {
    throw new BatonError('internal_error', 'A process was started without its pipes');
  }
  const ends = { report: duplexOf(report), channel: duplexOf(channel) };
  return { pid, stdin, stdout, stderr, ...ends, exited, hasExited: () => exitSeen };
}

function duplexOf(stream: unknown): Duplex | null {
  return stream instanceof Duplex ? stream : null;
}

interface FailedStart {
  readonly code?: string | undefined;
  readonly originalMessage?: string | undefined;
  readonly cause?: unknown;
}

function spawnError(command: CommandLine, cwd: string, result: FailedStart): BatonError {
  const { code, originalMessage = 'for an unknown reason', cause } = result;
  if (code === 'E2BIG') {
    const message = 'All variables together are larger than the system can pass to a process; allow fewer of them';
    return new BatonError('invalid_environment', message, { cwd }, { cause });
  }
  const message = `${command.file} could not be started in ${cwd}: ${originalMessage}`;
  return new BatonError('spawn_failed', message, { cwd }, { cause });
}

const OUTER_SCRIPT = fileURLToPath(new URL('outer.sh', import.meta.url));
const LIMITS_SCRIPT = fileURLToPath(new URL('limits.sh', import.meta.url));
const INIT_SCRIPT = fileURLToPath(new URL('init.sh', import.meta.url));

/** The search path for the tools that build a namespace: no folder that an agent can write. */
export const SYSTEM_PATH = '/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin';

interface CommandLine {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: { readonly [name: string]: string };
}

interface NamespaceOptions {
  readonly bash: string;
  readonly userNamespace: boolean;
  readonly hide: readonly HiddenDirectory[];
  /** The outermost first. */
  readonly fix: readonly FixedFolder[];
  readonly workspace: { readonly dev: bigint; readonly ino: bigint };
  readonly limits: CommandLimits | null;
}

/** The kernel then prefers processes of runs when the memory of the machine is used up. */
const OOM_SCORE = 500;

/** The arguments of limits.sh. */
function limitArguments(limits: CommandLimits | null): readonly string[] {
  if (limits === null) return ['', '', '', ''];
  const { join, processes, dataMb } = limits;
  return [join, processes, dataMb === null ? null : dataMb * 1024, OOM_SCORE].map((value) => `${value ?? ''}`);
}

export function hasLimit({ join, processes, dataMb }: CommandLimits): boolean {
  return join !== null || processes !== null || dataMb !== null;
}

/** Wraps a command that runs without a namespace. The wrapper becomes the command. */
export function limitedCommand(command: CommandLine, bash: string, limits: CommandLimits): CommandLine {
  const { early, late } = splitEnvironment(command.env);
  const wrapped = ['env', ...late, command.file, ...command.args];
  return {
    file: bash,
    args: ['-p', LIMITS_SCRIPT, ...limitArguments(limits), ...wrapped],
    env: { ...early, PATH: SYSTEM_PATH },
  };
}

/**
 * Wraps a command so that it runs alone in a PID namespace with its own /proc. `setpriv` ends the outer process with the daemon and the
 * namespace with the outer process, and `init.sh` is PID 1 of the namespace.
 */
export function namespaceCommand(command: CommandLine, options: NamespaceOptions): CommandLine {
  const { early, late } = splitEnvironment(command.env);
  const fixed = options.fix.flatMap(({ path, dev, ino }) => [path, `${dev}:${ino}`, 'fixed']);
  const hidden = options.hide.flatMap(({ path, dev, ino, mayVanish }) => [
    path,
    `${dev}:${ino}`,
    mayVanish ? 'optional' : 'required',
  ]);
  return {
    file: 'setpriv',
    args: [
      ...['--pdeathsig', 'KILL', 'unshare'],
      // --keep-caps lets init.sh mount. The command itself starts without capabilities.
      ...(options.userNamespace ? ['--user', '--map-current-user', '--keep-caps'] : []),
      ...['--pid', '--', options.bash, '-p', OUTER_SCRIPT, ...limitArguments(options.limits)],
      ...[options.bash, '-p', INIT_SCRIPT],
      `${options.workspace.dev}:${options.workspace.ino}`,
      options.fix.map(fixingMount).join(''),
      ...fixed,
      ...hidden,
      '--',
      ...(options.userNamespace ? DROP_CAPABILITIES : []),
      ...['env', ...late, command.file, ...command.args],
    ],
    env: { ...early, PATH: SYSTEM_PATH },
  };
}

/** A line of fstab. Recursive, because a user namespace cannot mount a folder without the mounts below it. */
function fixingMount({ path }: FixedFolder): string {
  const escaped = path.replace(
    /[ \t\r\n\\#]/g,
    (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`,
  );
  return `\n${escaped} ${escaped} none rbind 0 0`;
}

// Only sys_admin is removed from the bounding set: it could undo a mount. Tools with other file capabilities (ping) keep working.
const DROP_CAPABILITIES = ['setpriv', '--ambient-caps', '-all', '--inh-caps', '-all', '--bounding-set', '-sys_admin'];

/**
 * Variables that would affect the wrapping tools (loader, shell, search path, locale) are passed to the command only, as arguments of
 * `env`. All others stay in the environment, because arguments are visible to every user of the machine.
 */
function splitEnvironment(env: CommandLine['env']): { early: Record<string, string>; late: readonly string[] } {
  const entries = Object.entries(env);
  const assignments = entries.filter(([name]) => isLate(name)).map(([name, value]) => `${name}=${value}`);
  // init.sh, a shell, sets SHLVL; PATH is the system path up to here.
  const unset = ['SHLVL', 'PATH'].flatMap((name) => ['-u', name]);
  return {
    early: Object.fromEntries(entries.filter(([name]) => !isLate(name))),
    late: [...unset, ...assignments],
  };
}

const LATE_NAMES = new Set([
  ...['PATH', 'SHLVL', 'SHELLOPTS', 'BASHOPTS', 'GLIBC_TUNABLES', 'GCONV_PATH', 'LOCPATH', 'TMOUT'],
  // In posix mode the shell reports exit codes in other words.
  ...['POSIXLY_CORRECT', 'POSIX_PEDANTIC'],
  // Each shell warns of a locale that is not installed.
  ...['LANG', 'LANGUAGE'],
]);

function isLate(name: string): boolean {
  return LATE_NAMES.has(name) || name.startsWith('LD_') || name.startsWith('LC_');
}
