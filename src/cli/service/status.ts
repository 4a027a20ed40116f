import { randomUUID } from 'node:crypto';
import { lstat } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { detectContainment } from '../../../runner/contain/detect-containment.js';
import type { ContainedProcess } from '../../../runner/contain/process.js';
import { spawnContained } from '../../../runner/contain/spawn-contained.js';
import { createClock } from '../../clock.js';
import { BatonError } from '../../domain/errors.js';
import { neutralise, neutraliseLines } from '../../text/neutralise.js';
import type { Io } from '../io.js';
import {
  findUnit,
  journalArgs,
  lastLogLines,
  logLine,
  type OurUnit,
  ourUnits,
  refuseWithoutSystemd,
  type SystemdPrograms,
  serviceFolders,
  systemctlArgs,
  systemdEnvironment,
  withSystemd,
} from './systemd.js';
import { type Scope, unitNameOf } from './unit-text.js';

export interface StatusOptions {
  /** Without a workflow and a name: all services. */
  readonly workflowPath?: string | undefined;
  readonly name?: string | undefined;
  readonly scope: Scope;
  readonly etcDir?: string | undefined;
}

const LOG_LINES = 5;

/** Prints the status of one service or of all; exit code 0 when all are active, else 1. Throws `service_failed`. */
export async function serviceStatus(options: StatusOptions, io: Io): Promise<number> {
  const { scope, name, workflowPath, etcDir } = options;
  const folders = serviceFolders(scope, { ...io, etcDir });
  const isAll = name === undefined && workflowPath === undefined;
  const units = isAll
    ? await ourUnits(folders)
    : [await findUnit(folders, { name, workflowPath: workflowPath ?? 'WORKFLOW.md', cwd: io.cwd })];
  if (units.length === 0) {
    const hint = scope === 'user' ? ' Services of the machine: --system.' : '';
    io.stdout.write(`${neutralise(`No service is installed: ${folders.units} has no unit of Baton.${hint}`)}\n`);
    return 1;
  }
  return withSystemd(scope, io, async (programs) => {
    await refuseWithoutSystemd(scope, programs);
    const statuses: UnitStatus[] = [];
    for (const unit of units) statuses.push(await readUnitStatus(unit, scope, programs));
    io.stdout.write(`${neutraliseLines(statuses.map(({ text }) => text).join('\n\n'))}\n`);
    return statuses.every(({ isActive }) => isActive) ? 0 : 1;
  });
}

interface UnitStatus {
  readonly text: string;
  readonly isActive: boolean;
}

const PROPERTIES = [
  ...['ActiveState', 'SubState', 'UnitFileState', 'MainPID', 'StateChangeTimestamp', 'StatusText', 'NRestarts'],
  ...['Result', 'ExecMainStatus', 'NeedDaemonReload'],
];

async function readUnitStatus(ours: OurUnit, scope: Scope, programs: SystemdPrograms): Promise<UnitStatus> {
  const unit = unitNameOf(ours.name);
  const show = systemctlArgs(scope, ['show', unit, `--property=${PROPERTIES.join(',')}`]);
  const facts = parseProperties((await programs.ask('systemctl', ...show)).stdout);
  const log = await lastLogLines(scope, unit, LOG_LINES, programs);
  return { text: statusText(ours, facts, log), isActive: facts.ActiveState === 'active' };
}

export interface UnitProperties {
  readonly [name: string]: string | undefined;
}

export function parseProperties(text: string): UnitProperties {
  return Object.fromEntries(
    text.split('\n').flatMap((line): [string, string][] => {
      const at = line.indexOf('=');
      return at > 0 && line.length > at + 1 ? [[line.slice(0, at), line.slice(at + 1)]] : [];
    }),
  );
}

/** The status as text. Pure. */
export function statusText(
  { name, path, mark }: Pick<OurUnit, 'name' | 'path' | 'mark'>,
  facts: UnitProperties,
  log: readonly string[],
): string {
  const { ActiveState = 'unknown', SubState = '', UnitFileState = 'not enabled', MainPID = '0' } = facts;
  const since = facts.StateChangeTimestamp === undefined ? '' : ` since ${facts.StateChangeTimestamp}`;
  const pid = MainPID === '0' ? '' : `, pid ${MainPID}`;
  const hasFailed = facts.Result !== undefined && facts.Result !== 'success';
  const row = (label: string, value: string) => `  ${label.padEnd(10)}${value}`;
  return [
    `${name}: ${ActiveState} (${SubState})${since}, ${UnitFileState}${pid}`,
    ...(facts.StatusText === undefined ? [] : [row('status', facts.StatusText)]),
    ...(hasFailed ? [row('failed', `${facts.Result}, exit code ${facts.ExecMainStatus ?? '?'}`)] : []),
    ...((facts.NRestarts ?? '0') === '0' ? [] : [row('restarts', facts.NRestarts ?? '')]),
    row('workflow', mark.workflow),
    row('unit', `${path}${facts.NeedDaemonReload === 'yes' ? ' (changed since it was read: daemon-reload)' : ''}`),
    row('state', mark.stateDir),
    ...(log.length === 0 ? [] : ['  log', ...log.map((line) => `    ${line}`)]),
  ].join('\n');
}

export interface LogsOptions {
  readonly workflowPath: string;
  readonly name?: string | undefined;
  readonly scope: Scope;
  readonly lines: number;
  readonly follow: boolean;
  readonly etcDir?: string | undefined;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Prints the log of a service, with `follow` also new lines: as JSON lines, on a terminal formatted. Throws `service_failed`. */
export async function serviceLogs(options: LogsOptions, io: Io): Promise<number> {
  const { scope, name, workflowPath, etcDir, lines, follow } = options;
  const folders = serviceFolders(scope, { ...io, etcDir });
  const ours = await findUnit(folders, { name, workflowPath, cwd: io.cwd });
  const args = [...journalArgs(scope, unitNameOf(ours.name), lines), ...(follow ? ['--follow'] : [])];
  const clock = createClock();
  try {
    const containment = await detectContainment({ isolation: 'none', hide: [], clock });
    const { dev, ino } = await lstat('/');
    const child = await spawnContained(
      {
        ...{ file: 'journalctl', args, env: systemdEnvironment(io), stdin: 'ignore' },
        ...{ marker: `cli-${randomUUID()}`, cwd: '/', identity: { dev, ino } },
      },
      containment,
    ).catch((error: Error) => {
      throw new BatonError('service_failed', `the log cannot be read: ${error.message}`, {}, { cause: error });
    });
    return await forwardLines(child, io);
  } finally {
    clock.close();
  }
}

/** Until the program ends, a signal arrives or the reader is gone. */
async function forwardLines(child: ContainedProcess, io: Io): Promise<number> {
  let isStopped = false;
  const stop = () => {
    isStopped = true;
    void child.stop({ termMs: 500 }); // Awaited below.
  };
  for (const signal of SIGNALS) process.once(signal, stop);
  io.stdout.once('error', stop);
  try {
    const errors: string[] = [];
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => errors.push(chunk));
    for await (const line of createInterface({ input: child.stdout })) {
      const isWritten = io.stdout.write(
        `${io.isTTY ? logLine(line, { colour: !io.env.NO_COLOR }) : neutralise(line)}\n`,
      );
      if (!isWritten && !isStopped) await drained(io);
      if (isStopped) break;
    }
    const { code } = await child.exited;
    if (code === 0 || isStopped) return 0;
    throw new BatonError('service_failed', `journalctl failed (${code}): ${errors.join('').trim().slice(-1000)}`);
  } finally {
    for (const signal of SIGNALS) process.removeListener(signal, stop);
    io.stdout.removeListener('error', stop);
    await child.stop({ termMs: 500 });
  }
}

function drained({ stdout }: Io): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      for (const event of ['drain', 'error', 'close']) stdout.removeListener(event, done);
      resolve();
    };
    for (const event of ['drain', 'error', 'close']) stdout.once(event, done);
  });
}
