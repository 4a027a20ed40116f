import { randomUUID } from 'node:crypto';
import { lstat } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { detectContainment } from '../../../runner/contain/detect-containment.js';
import { runContained } from '../../../runner/contain/run-contained.js';
import type { ContainedProcess } from '../../../runner/contain/process.js';
import { createClock } from '../../clock.js';
import { BatonError } from '../../domain/errors.js';
import { neutralise } from '../../text/neutralise.js';
import type { Io } from '../io.js';
import { journalArgs, logLine } from './log-lines.js';
import { chooseUnit } from './our-units.js';
import { placesOf } from './service-places.js';
import { systemdEnvironment } from './systemd.js';
import { type Scope, unitNameOf } from './unit-name.js';

export interface LogsOptions {
  readonly workflowPath: string;
  readonly name?: string | undefined;
  readonly scope: Scope;
  readonly lines: number;
  readonly follow: boolean;
  readonly etcDir?: string | undefined;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Prints the log of a service, on and on with `follow`: as JSON lines, on a terminal as people read them. Throws `service_failed`. */
export async function serviceLogs(options: LogsOptions, io: Io): Promise<number> {
  const { scope, name, workflowPath, etcDir, lines, follow } = options;
  const places = placesOf(scope, { ...io, etcDir });
  const ours = await chooseUnit(places, { name, workflowPath, cwd: io.cwd });
  const args = [...journalArgs(scope, unitNameOf(ours.name), lines), ...(follow ? ['--follow'] : [])];
  const clock = createClock();
  try {
    const containment = await detectContainment({ isolation: 'none', hide: [], clock });
    const { dev, ino } = await lstat('/');
    const child = await runContained(
      {
        ...{ file: 'journalctl', args, env: systemdEnvironment(io), stdin: 'ignore' },
        ...{ marker: `cli-${randomUUID()}`, cwd: '/', identity: { dev, ino } },
      },
      containment,
    ).catch((error: Error) => {
      throw new BatonError('service_failed', `the log cannot be read: ${error.message}`, {}, { cause: error });
    });
    return await pass(child, io);
  } finally {
    clock.close();
  }
}

/** Until it ends, somebody ends us, or nobody reads any more. */
async function pass(child: ContainedProcess, io: Io): Promise<number> {
  let isStopped = false;
  const stop = () => {
    isStopped = true;
    void child.stop({ termMs: 500 }); // Awaited below.
  };
  for (const signal of SIGNALS) process.once(signal, stop);
  io.stdout.once('error', stop);
  try {
    const complaint: string[] = [];
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => complaint.push(chunk));
    for await (const line of createInterface({ input: child.stdout })) {
      const isTaken = io.stdout.write(`${io.isTTY ? logLine(line, { colour: !io.env.NO_COLOR }) : neutralise(line)}\n`);
      if (!isTaken && !isStopped) await drained(io);
      if (isStopped) break;
    }
    const { code } = await child.exited;
    if (code === 0 || isStopped) return 0;
    throw new BatonError('service_failed', `journalctl failed (${code}): ${complaint.join('').trim().slice(-1000)}`);
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
