import { basename } from 'node:path';
import { BatonError } from '../../domain/errors.js';

export interface UnitFacts {
  readonly scope: Scope;
  readonly name: string;
  /** The user of a system unit. */
  readonly runAs: string | null;
  /** The words of ExecStart. */
  readonly program: string;
  readonly args: readonly string[];
  /** Whether the program connects the daemon to systemd. */
  readonly notifies: boolean;
  readonly workingDirectory: string;
  readonly environment: { readonly [name: string]: string };
  readonly shutdownTimeoutMs: number;
  readonly mark: UnitMark;
}

/** The time for killing processes and closing resources after `runtime.shutdown_timeout_ms`. */
const CLOSING_S = 60;

/** The text of a unit. docs/service.md explains the deliberate omissions, above all hardening. */
export function unitText(facts: UnitFacts): string {
  const { scope, name, mark } = facts;
  const isUser = scope === 'user';
  const lines = [
    '# Written by `baton service install`, which overwrites it. For your own settings:',
    `#   systemctl ${isUser ? '--user ' : ''}edit ${unitNameOf(name)}`,
    '',
    '[Unit]',
    // The path is not last, because a backslash at its end would join the next line.
    `Description=Baton on ${plainText(mark.workflow)} (${name})`,
    ...(isUser ? [] : ['Wants=network-online.target', 'After=network-online.target']),
    'StartLimitIntervalSec=600',
    'StartLimitBurst=5',
    '',
    '[Service]',
    // Only the daemon itself: with `all`, agents could report it as ready, alive or stopping.
    ...(facts.notifies ? ['Type=notify', 'NotifyAccess=main'] : ['Type=exec']),
    ...(facts.runAs === null ? [] : [`User=${plainText(facts.runAs)}`]),
    `ExecStart=${[commandProgram(facts.program), ...facts.args.map(commandWord)].join(' ')}`,
    `WorkingDirectory=${barePath(facts.workingDirectory)}`,
    ...Object.entries(facts.environment).map(([key, value]) => `Environment=${assignment(key, value)}`),
    `EnvironmentFile=-${globPath(mark.environmentFile)}`,
    `SyslogIdentifier=baton-${name}`,
    '',
    'Restart=on-failure',
    'RestartSec=10',
    '# 2: invalid settings, or another instance is running. A restart changes neither.',
    'RestartPreventExitStatus=2',
    'TimeoutStartSec=300',
    ...(facts.notifies ? WATCHDOG : []),
    '',
    '# Only the daemon gets SIGTERM. It ends its agents and hooks; systemd kills the remaining processes.',
    'KillMode=mixed',
    `TimeoutStopSec=${Math.ceil(facts.shutdownTimeoutMs / 1000) + CLOSING_S}`,
    '# When the kernel kills an agent that uses too much memory, the others continue.',
    'OOMPolicy=continue',
    '# A control group that the daemon divides among its runs, to limit them.',
    'Delegate=cpu memory pids',
    ...(isUser ? [] : SYSTEM_HARDENING),
    '',
    '[Install]',
    `WantedBy=${isUser ? 'default.target' : 'multi-user.target'}`,
    '',
    ...markText(mark),
  ];
  return `${lines.join('\n')}\n`;
}

const WATCHDOG = ['WatchdogSec=120', '# Not SIGABRT: a core dump would contain secrets.', 'WatchdogSignal=SIGKILL'];

/**
 * Only options that keep namespaces usable for agents. Measured with systemd 252 and 257: RestrictNamespaces=, SystemCallFilter=@system-service,
 * from 257 on also ProtectKernelTunables= and ProtectKernelLogs= (they cover parts of /proc) take PID namespaces away;
 * MemoryDenyWriteExecute= ends Node; ProtectControlGroups= makes the delegated control group read-only. In a user's unit whatever mounts something also hides all other users.
 */
const SYSTEM_HARDENING = ['ProtectSystem=full'];

// Quoting rules differ between settings; see systemd.service(5), systemd.exec(5) and systemd.syntax(7).
// `%` starts a specifier in all of them, and a line break would start another setting.

/** A word of ExecStart: unquoted, C escapes taken, `%` and `$` replaced. */
export function commandWord(text: string): string {
  return quoted(text).replaceAll('$', '$$$$');
}

/** The program of ExecStart: like a word, but `$` is not replaced in it. */
export function commandProgram(text: string): string {
  return quoted(text);
}

/** One assignment of Environment: like a word, but `$` is an ordinary character. */
export function assignment(name: string, value: string): string {
  return quoted(`${name}=${value}`);
}

/** A path that extends to the end of the line (WorkingDirectory), quotes and blanks included. */
export function barePath(path: string): string {
  const text = withoutSpecifiers(path);
  // A final slash protects a final backslash, which would join the next line, and final blanks, which are dropped.
  return /[\\\s]$/.test(text) ? `${text}/` : text;
}

/** A path of EnvironmentFile: like a bare path, but with wildcards. */
export function globPath(path: string): string {
  return withoutSpecifiers(path.replace(/[\\*?[\]{}]/g, '\\$&'));
}

function plainText(text: string): string {
  return withoutSpecifiers(text);
}

function quoted(text: string): string {
  return `"${withoutSpecifiers(text).replace(/[\\"]/g, '\\$&')}"`;
}

function withoutSpecifiers(text: string): string {
  if (/\p{Cc}/u.test(text)) {
    const message = `${JSON.stringify(text)} contains a line break or another control character, which a unit cannot contain. Rename it`;
    throw new BatonError('service_failed', message);
  }
  return text.replaceAll('%', '%%');
}

/** Our own data in a unit. systemd ignores sections whose names begin with X-. */
export interface UnitMark {
  /** The real path of the workflow. */
  readonly workflow: string;
  readonly stateDir: string;
  readonly environmentFile: string;
}

function markText({ workflow, stateDir, environmentFile }: UnitMark): readonly string[] {
  return ['[X-Baton]', `Installed=${JSON.stringify({ workflow, stateDir, environmentFile })}`];
}

/** Null for a unit that Baton did not write. */
export function readMark(unit: string): UnitMark | null {
  const [, json] = /^\[X-Baton\]\nInstalled=(.*)$/m.exec(unit) ?? [];
  if (json === undefined) return null;
  try {
    const mark = JSON.parse(json) as Partial<Record<keyof UnitMark, unknown>>;
    const { workflow, stateDir, environmentFile } = mark;
    const isWhole = [workflow, stateDir, environmentFile].every((value) => typeof value === 'string');
    return isWhole ? (mark as UnitMark) : null;
  } catch {
    return null;
  }
}

/** The systemd of the user, or that of the machine. */
export type Scope = 'user' | 'system';

const MAX_LENGTH = 48;

/** Valid for `--name`, which becomes part of file names and of a unit name. */
export function isServiceName(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(text) && text.length <= MAX_LENGTH && !text.endsWith('.service');
}

/** A valid name similar to the folder of the workflow. */
export function nameOfFolder(folder: string): string {
  const plain = basename(folder)
    .replace(/[^A-Za-z0-9_.-]+/g, '-')
    .replace(/\.service$/, '')
    .slice(0, MAX_LENGTH)
    .replace(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '');
  return plain === '' ? 'workflow' : plain;
}

export function unitNameOf(name: string): string {
  return `baton-${name}.service`;
}

/** The name of the service of a unit file; null for a file of another program. */
export function serviceNameOf(file: string): string | null {
  const name = /^baton-(.+)\.service$/.exec(file)?.[1];
  return name !== undefined && isServiceName(name) ? name : null;
}
