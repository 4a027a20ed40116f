import { basename } from 'node:path';
import { BatonError } from '../../domain/errors.js';

export interface UnitFacts {
  readonly scope: Scope;
  readonly name: string;
  /** Of a system unit: who it runs as. */
  readonly runAs: string | null;
  readonly program: string;
  readonly args: readonly string[];
  readonly workingDirectory: string;
  readonly environment: { readonly [name: string]: string };
  readonly shutdownTimeoutMs: number;
  readonly mark: UnitMark;
}

/** After `runtime.shutdown_timeout_ms` the daemon kills what is left and closes its parts, each within a bound. */
const CLOSING_S = 60;

/** The text of a unit. What is not in it on purpose, hardening above all, is told in docs/service.md. */
export function unitText(facts: UnitFacts): string {
  const { scope, name, mark } = facts;
  const isUser = scope === 'user';
  const lines = [
    '# Written by `baton service install`, which writes it anew when it is called again. For settings of your own:',
    `#   systemctl ${isUser ? '--user ' : ''}edit ${unitNameOf(name)}`,
    '',
    '[Unit]',
    // The path not last: a backslash at the end of it would join the next line to this one.
    `Description=Baton on ${plainText(mark.workflow)} (${name})`,
    ...(isUser ? [] : ['Wants=network-online.target', 'After=network-online.target']),
    'StartLimitIntervalSec=600',
    'StartLimitBurst=5',
    '',
    '[Service]',
    'Type=notify',
    '# The daemon tells its state through systemd-notify, which is its child.',
    'NotifyAccess=all',
    ...(facts.runAs === null ? [] : [`User=${plainText(facts.runAs)}`]),
    `ExecStart=${[commandProgram(facts.program), ...facts.args.map(commandWord)].join(' ')}`,
    `WorkingDirectory=${barePath(facts.workingDirectory)}`,
    ...Object.entries(facts.environment).map(([key, value]) => `Environment=${assignment(key, value)}`),
    `EnvironmentFile=-${globPath(mark.environmentFile)}`,
    `SyslogIdentifier=baton-${name}`,
    '',
    'Restart=on-failure',
    'RestartSec=10',
    '# 2: wrong settings, or another Baton is at work. Starting again changes neither.',
    'RestartPreventExitStatus=2',
    'TimeoutStartSec=300',
    'WatchdogSec=120',
    '# Not SIGABRT: a dump of the memory would hold secrets.',
    'WatchdogSignal=SIGKILL',
    '',
    '# The daemon alone is asked to stop, and ends its agents and hooks in order; what is left after it is killed.',
    'KillMode=mixed',
    `TimeoutStopSec=${Math.ceil(facts.shutdownTimeoutMs / 1000) + CLOSING_S}`,
    '# An agent that takes too much memory is ended by the kernel: no reason to end the others.',
    'OOMPolicy=continue',
    ...(isUser ? [] : SYSTEM_HARDENING),
    '',
    '[Install]',
    `WantedBy=${isUser ? 'default.target' : 'multi-user.target'}`,
    '',
    ...markText(mark),
  ];
  return `${lines.join('\n')}\n`;
}

/**
 * Only what leaves namespaces to agents. Measured with systemd 252 and 257: RestrictNamespaces=, SystemCallFilter=@system-service,
 * from 257 on also ProtectKernelTunables= and ProtectKernelLogs= (they cover parts of /proc) take PID namespaces away;
 * MemoryDenyWriteExecute= ends Node. In a user's unit whatever mounts something also hides all other users.
 */
const SYSTEM_HARDENING = ['ProtectSystem=full', 'ProtectControlGroups=yes'];

// How systemd reads a value differs from setting to setting; systemd.service(5), systemd.exec(5) and systemd.syntax(7) say how.
// `%` begins a specifier in all of them, and a line break would begin the next setting: nobody but us writes lines here.

/** A word of ExecStart: unquoted, C escapes taken, `%` and `$` replaced. */
export function commandWord(text: string): string {
  return quoted(text).replaceAll('$', '$$$$');
}

/** The program of ExecStart: as a word, but `$` stays: variables are not looked for in it. */
export function commandProgram(text: string): string {
  return quoted(text);
}

/** One assignment of Environment: as a word, but `$` means nothing. */
export function assignment(name: string, value: string): string {
  return quoted(`${name}=${value}`);
}

/** A path that is taken as it stands up to the end of the line (WorkingDirectory): quotes and blanks belong to it. */
export function barePath(path: string): string {
  const text = withoutSpecifiers(path);
  // A backslash would join the next line to it, and blanks at the end are dropped; a slash there changes nothing.
  return /[\\\s]$/.test(text) ? `${text}/` : text;
}

/** A path of EnvironmentFile: as a bare one, but wildcards are looked for. */
export function globPath(path: string): string {
  return withoutSpecifiers(path.replace(/[\\*?[\]{}]/g, '\\$&'));
}

/** Text for people. */
function plainText(text: string): string {
  return withoutSpecifiers(text);
}

function quoted(text: string): string {
  return `"${withoutSpecifiers(text).replace(/[\\"]/g, '\\$&')}"`;
}

function withoutSpecifiers(text: string): string {
  if (/\p{Cc}/u.test(text)) {
    const message = `${JSON.stringify(text)} holds a line break or another control character, which a unit cannot hold. Rename it`;
    throw new BatonError('service_failed', message);
  }
  return text.replaceAll('%', '%%');
}

/** What a unit of ours says about itself, for us: systemd does not look at sections whose names begin with X-. */
export interface UnitMark {
  /** The real path of the workflow. */
  readonly workflow: string;
  readonly stateDir: string;
  readonly environmentFile: string;
}

function markText({ workflow, stateDir, environmentFile }: UnitMark): readonly string[] {
  return ['[X-Baton]', `Installed=${JSON.stringify({ workflow, stateDir, environmentFile })}`];
}

/** `null`: not a unit that we wrote. */
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

/** Whose systemd: that of the user, or that of the machine. */
export type Scope = 'user' | 'system';

const MAX_LENGTH = 48;

/** What `--name` may be: it becomes part of the names of files and of a unit. */
export function isServiceName(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(text) && text.length <= MAX_LENGTH && !text.endsWith('.service');
}

/** The name of a service by the folder of its workflow, as near to it as may be. */
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

/** The name of a service by the name of its unit file; `null` for a file that cannot be ours. */
export function serviceNameOf(file: string): string | null {
  const name = /^baton-(.+)\.service$/.exec(file)?.[1];
  return name !== undefined && isServiceName(name) ? name : null;
}
