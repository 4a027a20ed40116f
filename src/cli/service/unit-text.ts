import { assignment, barePath, commandProgram, commandWord, globPath, plainText } from './unit-escape.js';
import { markText, type UnitMark } from './unit-mark.js';
import { type Scope, unitNameOf } from './unit-name.js';

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
