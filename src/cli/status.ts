import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { StateView } from '../api/schemas.js';
import { shellWord } from '../domain/shell-word.js';
import { defaultLockDir } from '../state-dir.js';
import type { LockHolder } from '../store/instance-lock.js';
import { cut, oneLine, rowsOf, wrap } from '../text/terminal-text.js';
import { connectDaemon, type DaemonTarget, isNotRunning, lateShape, locateDaemon, printDaemonError } from './client.js';
import { type Io, printJson, printProblem } from './io.js';
import type { Frame } from './status-lists.js';
import { type DaemonStatus, renderDaemons, renderStatus, renderStored } from './status-view.js';
import {
  columnsOfOutput,
  heightOfOutput,
  isTerminal,
  openScreen,
  paintOf,
  wantsColour,
  widthOfOutput,
} from './terminal.js';

export interface StatusOptions extends DaemonTarget {
  readonly watch: boolean;
  readonly json: boolean;
  readonly all: boolean;
}

/** Exit code 0 with a daemon, 1 without one, 2 without a workflow. In a folder without a workflow: all daemons of this user. */
export async function status(options: StatusOptions, io: Io): Promise<number> {
  const { workflow, stateDir, watch, json } = options;
  const isNamed = workflow !== undefined || stateDir !== undefined;
  try {
    if (!isNamed && !existsSync(join(io.cwd, 'WORKFLOW.md'))) {
      if (!watch) return await statusOfAll(json, io, frameOf(options, io));
      return printProblem('there is no WORKFLOW.md in this folder: name the workflow, or leave --watch out', 2, io);
    }
    const location = await locateDaemon({ workflow, stateDir }, io);
    if (location.isNowhere) return printDaemonError(location.notRunning(), io);
    return await (watch ? watchStatus(options, io) : statusOfOne(options, io));
  } catch (error) {
    printDaemonError(error, io);
    return 1;
  }
}

function frameOf({ workflow, stateDir, all }: StatusOptions, io: Io): Frame {
  return {
    nowMs: Date.now(),
    width: widthOfOutput(io),
    widest: columnsOfOutput(io),
    height: null,
    paint: paintOf(wantsColour(io)),
    all,
    target: `${words(workflow, '--workflow')}${words(stateDir, '--state-dir')}`,
  };
}

/** A value as part of a command; empty without a value. */
function words(value: string | undefined, flag?: string): string {
  return value === undefined ? '' : ` ${flag === undefined ? '' : `${flag} `}${shellWord(value)}`;
}

async function statusOfOne(options: StatusOptions, io: Io): Promise<number> {
  const { workflow, stateDir, json } = options;
  try {
    const view = await readState({ workflow, stateDir }, io);
    if (json) printJson(view, io);
    else io.stdout.write(renderStatus(view, frameOf(options, io)));
    return 0;
  } catch (error) {
    // `--json` prints the state of a running daemon or nothing.
    if (!isNotRunning(error) || json) throw error;
  }
  await printStored(options, io);
  return 1;
}

async function readState(target: DaemonTarget, io: Io): Promise<StateView> {
  const client = await connectDaemon(target, io);
  try {
    return await client.get('/api/v1/state', lateShape('stateShape'));
  } finally {
    client.close();
  }
}

/** Shows the status until it is interrupted, over restarts of the daemon. Throws `ApiError`. */
async function watchStatus(options: StatusOptions, io: Io): Promise<number> {
  const { workflow, stateDir } = options;
  const { followDaemon, nextState, untilInterrupted } = await import('./follow-daemon.js');
  const interruption = untilInterrupted(io);
  let view: StateView | null = null;
  let gone: string | null = null;
  const screen = openScreen(
    io,
    () => renderWatched(view, gone, frameOf(options, io), isTerminal(io) ? heightOfOutput(io) : null),
    () => `${view === null ? '' : changeKey(view)} ${gone}`,
  );
  try {
    for await (const followed of followDaemon({ workflow, stateDir }, '/api/v1/events', io, interruption.signal)) {
      gone = 'gone' in followed ? followed.gone : null;
      if ('event' in followed) view = nextState(view, followed.event);
      screen.update();
    }
    return 0;
  } finally {
    screen.close();
    interruption.restore();
  }
}

function renderWatched(view: StateView | null, gone: string | null, frame: Frame, height: number | null): string {
  const { width, paint } = frame;
  const notice = gone === null ? [] : wrap(oneLine(`The daemon is gone: ${gone}`), width, 4).map(paint.red);
  const hint = `Waiting for the daemon (Ctrl-C stops this).${view === null ? '' : ' Below is its last state.'}`;
  const waiting = gone === null ? '' : `${[...notice, paint.dim(cut(hint, width))].join('\n')}\n`;
  if (view === null) return waiting;
  const head = waiting === '' ? '' : `${waiting}\n`;
  const text = `${head}${renderStatus(view, frame)}`;
  // On a small screen every list gives up some lines, so that the last list is not cut off.
  const isTooLong = height !== null && rowsOf(text.trimEnd(), frame.widest) > height;
  return isTooLong ? `${head}${renderStatus(view, { ...frame, height })}` : text;
}

/** Changes with a change that matters to a person, and not with counters and times. */
export function changeKey(view: StateView): string {
  const { running, asking, retrying, parked, ready, ineligible, done, holds, paused, shutting_down, workflow, poll } =
    view;
  return JSON.stringify([
    running.map((run) => [run.run_id, run.phase, run.step, run.asking, run.stopping, run.turn_count, run.last_message]),
    asking.map(({ run_id, questions }) => [run_id, questions.map(({ id }) => id)]),
    retrying.map(({ issue_id, due_at, error }) => [issue_id, due_at, error]),
    parked.map(({ issue_id, reason, since }) => [issue_id, reason, since]),
    ready.map(({ issue_id, why }) => [issue_id, why !== null]),
    ineligible.length,
    done.map(({ issue_id, finished_at }) => [issue_id, finished_at]),
    holds.map(({ source, code, tries }) => [source, code, tries]),
    [paused !== null, shutting_down, workflow.error, workflow.held?.hash],
    [workflow.restart_required, workflow.restart_error],
    [poll.health, poll.error, poll.problems.length],
    view.daemon.pid,
  ]);
}

async function printStored(options: StatusOptions, io: Io): Promise<void> {
  const { workflow: named, stateDir: namedDir } = options;
  const { stateDir, workflow } = await locateDaemon({ workflow: named, stateDir: namedDir }, io);
  const { readStoredStatus } = await import('./stored-status.js');
  const { view, storedAtMs } = await readStoredStatus(stateDir);
  const start = `baton${words(named)}${words(namedDir, '--state-dir')}`;
  io.stdout.write(renderStored(view, { path: workflow ?? stateDir, storedAtMs, start }, frameOf(options, io)));
}

/** Prints a few lines about every daemon of this user, the oldest first; exit code 1 without any. */
async function statusOfAll(json: boolean, io: Io, frame: Frame): Promise<number> {
  const { listHolders } = await import('../store/instance-lock.js');
  const holders = await listHolders(defaultLockDir(io.env, io.homeDir));
  const daemons = await Promise.all(holders.map((holder) => statusOf(holder, io)));
  if (json) printJson(daemons.map(toJson), io);
  else io.stdout.write(renderDaemons(daemons, frame));
  return daemons.length === 0 ? 1 : 0;
}

async function statusOf(holder: LockHolder, io: Io): Promise<DaemonStatus> {
  const { workflow, stateDir } = holder;
  try {
    return { holder, answer: await readState({ workflow, stateDir }, io) };
  } catch (error) {
    return { holder, answer: { error: isNotRunning(error) ? NOT_LISTENING : (error as Error).message } };
  }
}

const NOT_LISTENING = 'its process does not listen on its socket; it is starting, ending or of an older version';

function toJson({ holder: { pid, since, workflow, stateDir }, answer }: DaemonStatus) {
  const state = 'error' in answer ? { state: null, error: answer.error } : { state: answer, error: null };
  return { pid, since, workflow, state_dir: stateDir ?? null, ...state };
}
