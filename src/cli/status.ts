import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createClock } from '../clock.js';
import { stateShape } from '../api/schemas.js';
import { readStored } from '../store/read-stored.js';
import { connectDaemon } from './client.js';
import { type DaemonTarget, daemonPlace } from './daemon-place.js';
import { complainOf, isNotRunning } from './with-daemon.js';
import { shellWord } from './invocation.js';
import type { Io } from './io.js';
import type { Frame } from './terminal.js';
import { paintOf, wantsColour } from './status/paint.js';
import { printJson } from './status/print-json.js';
import { renderStatus } from './status-view.js';
import { renderStored } from './status/render-stored.js';
import { statusOfAll } from './status/status-of-all.js';
import { storedView } from './status/stored-view.js';
import { columnsOfOutput, widthOfOutput } from './status/terminal-size.js';
import { watchStatus } from './watch-status.js';

export interface StatusOptions extends DaemonTarget {
  readonly watch: boolean;
  readonly json: boolean;
  readonly all: boolean;
}

/** 0 with a daemon, 1 without one, 2 where there is no such workflow; where none is meant, of every daemon of this user. */
export async function status(options: StatusOptions, io: Io): Promise<number> {
  const { workflow, stateDir, watch, json } = options;
  const frame = () => frameOf(options, io);
  const isNamed = workflow !== undefined || stateDir !== undefined;
  try {
    if (!isNamed && !existsSync(join(io.cwd, 'WORKFLOW.md'))) {
      if (!watch) return await statusOfAll(json, io, frame());
      io.stderr.write(
        'baton: there is no WORKFLOW.md in this folder: name the workflow to watch, or leave --watch out\n',
      );
      return 2;
    }
    const place = await daemonPlace({ workflow, stateDir }, io);
    if (place.isNowhere) return complainOf(place.notRunning(), io);
    if (watch) return await watchStatus({ workflow, stateDir }, io, frame);
    return await statusOfOne(options, io, frame());
  } catch (error) {
    complainOf(error, io);
    return 1;
  }
}

async function statusOfOne({ workflow, stateDir, json }: StatusOptions, io: Io, frame: Frame): Promise<number> {
  const target = { workflow, stateDir };
  try {
    const client = await connectDaemon(target, io);
    try {
      const view = await client.get('/api/v1/state', stateShape);
      if (json) printJson(view, io);
      else io.stdout.write(renderStatus(view, frame));
      return 0;
    } finally {
      client.close();
    }
  } catch (error) {
    // Whoever wants JSON wants the state of a daemon and nothing that looks like it.
    if (!isNotRunning(error) || json) throw error;
  }
  await tellStored(target, io, frame);
  return 1;
}

async function tellStored(target: DaemonTarget, io: Io, frame: Frame): Promise<void> {
  const { stateDir, workflow } = await daemonPlace(target, io);
  const storedAtMs = await storedAt(stateDir);
  const durable = await readStored(stateDir);
  const clock = createClock();
  const view = storedView(durable, clock.now());
  clock.close();
  const start = `baton${words(target.workflow)}${words(target.stateDir, '--state-dir')}`;
  io.stdout.write(renderStored(view, { place: workflow ?? stateDir, storedAtMs, start }, frame));
}

/** What was written last may still stand beside the file. */
async function storedAt(stateDir: string): Promise<number | null> {
  const times = await Promise.all(
    ['baton.db', 'baton.db-wal'].map((name) =>
      stat(join(stateDir, name)).then(
        ({ mtimeMs }) => mtimeMs,
        () => null,
      ),
    ),
  );
  const known = times.filter((time) => time !== null);
  return known.length === 0 ? null : Math.max(...known);
}

function frameOf({ workflow, stateDir, all }: StatusOptions, io: Io): Frame {
  const target = `${words(workflow, '--workflow')}${words(stateDir, '--state-dir')}`;
  const paint = paintOf(wantsColour(io));
  const [width, widest] = [widthOfOutput(io), columnsOfOutput(io)];
  return { nowMs: Date.now(), width, widest, height: null, paint, all, target };
}

/** A value in a command, where it was given. */
function words(value: string | undefined, flag?: string): string {
  return value === undefined ? '' : ` ${flag === undefined ? '' : `${flag} `}${shellWord(value)}`;
}
