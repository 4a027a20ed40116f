import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type AskingView, type StateView, stateShape } from '../api/schemas.js';
import { doneEntry, issueFields, parkedEntry, retryingEntry } from '../api/snapshot.js';
import { createClock } from '../clock.js';
import type { Claim } from '../domain/claim.js';
import { DAY_MS, type Instant } from '../domain/clock.js';
import type { Durable, DurableClaim } from '../domain/durable.js';
import { shellWord } from '../domain/shell-word.js';
import { defaultLockDir } from '../state-dir.js';
import { type LockHolder, listHolders } from '../store/instance-lock.js';
import { readStored } from '../store/read-stored.js';
import { isoTime } from '../text/format-time.js';
import { connectDaemon, type DaemonTarget, isNotRunning, locateDaemon, printDaemonError } from './client.js';
import { type Io, printJson } from './io.js';
import { type DaemonStatus, renderDaemons, renderStatus, renderStored } from './status-view.js';
import { columnsOfOutput, type Frame, paintOf, wantsColour, widthOfOutput } from './terminal.js';
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
    const place = await locateDaemon({ workflow, stateDir }, io);
    if (place.isNowhere) return printDaemonError(place.notRunning(), io);
    if (watch) return await watchStatus({ workflow, stateDir }, io, frame);
    return await statusOfOne(options, io, frame());
  } catch (error) {
    printDaemonError(error, io);
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
  const { stateDir, workflow } = await locateDaemon(target, io);
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

/** A few lines about every daemon of this user; 1 where there is none. */
export async function statusOfAll(json: boolean, io: Io, frame: Frame): Promise<number> {
  const daemons = await Promise.all((await listDaemons(io)).map((holder) => ask(holder, io)));
  if (json) {
    printJson(
      daemons.map(({ holder, answer }) => ({
        ...asJson(holder),
        ...('silent' in answer ? { state: null, error: answer.silent } : { state: answer, error: null }),
      })),
      io,
    );
  } else io.stdout.write(renderDaemons(daemons, frame));
  return daemons.length === 0 ? 1 : 0;
}

async function ask(holder: LockHolder, io: Io): Promise<DaemonStatus> {
  const { workflow, stateDir } = holder;
  try {
    const client = await connectDaemon({ workflow, stateDir }, io);
    try {
      return { holder, answer: await client.get('/api/v1/state', stateShape) };
    } finally {
      client.close();
    }
  } catch (error) {
    return { holder, answer: { silent: isNotRunning(error) ? NOT_LISTENING : (error as Error).message } };
  }
}

/** Its process is there, though. */
const NOT_LISTENING = 'nobody listens on its socket; it is starting, ending, or of an older version';

function asJson({ pid, since, workflow, stateDir }: LockHolder) {
  return { pid, since, workflow, state_dir: stateDir ?? null };
}

/** What a daemon that is not there has left behind, in the words of its state. */
export interface StoredView extends Pick<StateView, 'asking' | 'retrying' | 'parked' | 'done'> {
  /** They go on when a daemon is started. */
  readonly interrupted: readonly { readonly identifier: string; readonly title: string; readonly number: number }[];
  readonly holds: readonly { readonly code: string; readonly message: string }[];
  readonly pausedSince: string | null;
}

export function storedView(durable: Durable, now: Instant): StoredView {
  const claims = Object.values(durable.claims).map(withoutLife);
  const running = claims.flatMap((claim) =>
    claim.status.kind === 'running' ? [{ issue: claim.issue, run: claim.status.run }] : [],
  );
  return {
    interrupted: running.map(({ issue, run }) => ({
      identifier: issue.identifier,
      title: issue.title,
      number: run.number,
    })),
    asking: running
      .filter(({ run }) => run.questions.length > 0)
      .map(({ issue, run }): AskingView => {
        const questions = run.questions.map(({ fields, ...one }) => ({
          ...one,
          fields: fields.map((field) => ({ ...field, options: [...field.options] })),
        }));
        const times = { asked_at: null, answer_until: null, on_timeout: 'park' } as const;
        return { ...issueFields(issue), run_id: run.runId, ...times, questions };
      }),
    retrying: claims.flatMap((claim) =>
      claim.status.kind === 'waiting' ? [retryingEntry(claim, claim.status, now)] : [],
    ),
    parked: claims.flatMap((claim) => (claim.status.kind === 'parked' ? [parkedEntry(claim, claim.status)] : [])),
    done: durable.finished
      .filter(({ atMs }) => atMs >= now.dayEndsAtMs - 2 * DAY_MS)
      .map(doneEntry)
      .reverse(),
    holds: Object.values(durable.holds).map(({ code, message }) => ({ code, message })),
    pausedSince: durable.pausedSinceMs === null ? null : isoTime(durable.pausedSinceMs),
  };
}

function withoutLife(claim: DurableClaim): Claim {
  return { ...claim, live: { issueSeq: 0, refusals: 0, run: null } };
}

/** Every daemon of this user, wherever it was started: they all have their locks in one folder. The oldest first. */
export function listDaemons({ env, homeDir }: Pick<Io, 'env' | 'homeDir'>): Promise<LockHolder[]> {
  return listHolders(defaultLockDir(env, homeDir));
}
