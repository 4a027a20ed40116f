import { join } from 'node:path';
import { z } from 'zod';
import { readTimeline } from '../api/read-timeline.js';
import { type TimelineEntry, timelineShape } from '../api/schemas.js';
import { transcriptName } from '../logging/transcript.js';
import { neutraliseJson, neutraliseLines } from '../text/neutralise.js';
import { badAnswer, connectDaemon, type DaemonClient } from './client.js';
import { type DaemonTarget, daemonPlace } from './daemon-place.js';
import { followDaemon, untilInterrupted } from './follow-daemon.js';
import type { Io } from './io.js';
import {
  chooseRuns,
  daemonLogs,
  type LoggedRun,
  type LogSource,
  type RunChoice,
  storedLogs,
  unseenEntries,
} from './log-source.js';
import { type LogFrame, renderEntries, renderRunHead } from './logs-view.js';
import { isTerminal, paintOf, wantsColour } from './terminal.js';
import { complainOf, isNotRunning } from './with-daemon.js';

export interface LogsOptions extends DaemonTarget, RunChoice {
  readonly issue: string;
  readonly follow: boolean;
  readonly raw: boolean;
}

/** Prints what happened in runs of an issue, by the daemon or, where none runs, from what it has written down. */
export async function logs(options: LogsOptions, io: Io): Promise<number> {
  const { workflow, stateDir, follow } = options;
  const place = await daemonPlace({ workflow, stateDir }, io);
  let client: DaemonClient | null = null;
  try {
    client = await connectOrNull(options, io);
    if (!client && place.isNowhere) return complainOf(place.notRunning(), io);
    const source = client ? daemonLogs(client, options.issue) : storedLogs(place.stateDir, options.issue);
    const found = await source.find();
    if (found === null) return await unknown(source, options.issue, client !== null, io);
    const { identifier: issue, runs } = found;
    const chosen = chooseRuns(runs, options, issue);
    if (typeof chosen === 'string') return complain(chosen, io);
    if (!client && !follow) say('no daemon is running; this was written down by the last one', io);
    if (options.raw) return await printRaw(chosen, source, issue, io);
    if (chosen.length === 0) say(`${issue} has had no run yet${follow ? '; waiting for one' : ''}`, io);
    const seen = await printRuns(chosen, source, issue, io);
    if (!follow) return 0;
    client?.close();
    return await followLog({ target: { workflow, stateDir }, issue, seen }, place.stateDir, io, () => frameOf(io));
  } catch (error) {
    return complainOf(error, io);
  } finally {
    client?.close();
  }
}

async function connectOrNull({ workflow, stateDir }: DaemonTarget, io: Io): Promise<DaemonClient | null> {
  try {
    return await connectDaemon({ workflow, stateDir }, io);
  } catch (error) {
    if (isNotRunning(error)) return null;
    throw error;
  }
}

/** The last of them, as far as it was printed. */
async function printRuns(runs: readonly LoggedRun[], source: LogSource, issue: string, io: Io): Promise<SeenLog> {
  let seen: SeenLog = { runId: null, entries: [] };
  for (const [at, run] of runs.entries()) {
    const timeline = await source.timeline(run.run_id);
    const frame = frameOf(io);
    const head = `${at === 0 ? '' : '\n'}${renderRunHead(issue, run, frame)}`;
    const cut = timeline?.truncated ? `${frame.paint.dim('… the beginning is left out, see --raw')}\n` : '';
    const body = timeline === null ? `${frame.paint.dim(NOTHING)}\n` : renderEntries(timeline.entries, frame);
    io.stdout.write(`${head}${cut}${body}`);
    seen = { runId: run.run_id, entries: timeline?.entries ?? [] };
  }
  return seen;
}

const NOTHING = 'nothing was written down of this run, or it has been removed since';

async function printRaw(runs: readonly LoggedRun[], source: LogSource, issue: string, io: Io): Promise<number> {
  let printed = 0;
  for (const run of runs) {
    const text = await source.transcript(run.run_id);
    if (text === null) continue;
    printed += 1;
    const lines = text.split('\n').map(neutraliseJson).join('\n');
    io.stdout.write(lines.endsWith('\n') ? lines : `${lines}\n`);
  }
  return printed > 0 ? 0 : complain(`nothing was written down of ${issue}, or it has been removed since`, io);
}

async function unknown(source: LogSource, issue: string, hasDaemon: boolean, io: Io): Promise<number> {
  const meant = await source.meant();
  const who = hasDaemon
    ? 'is neither claimed nor among the issues of the last poll, and has had no run'
    : 'has had no run, and no daemon is running that could know more';
  return complain(`${issue} ${who}${meant === null ? '' : `. Did you mean ${meant}?`}`, io);
}

function frameOf(io: Io): LogFrame {
  const width = isTerminal(io) ? (io.stdout.columns ?? null) : null;
  return { nowMs: Date.now(), width, paint: paintOf(wantsColour(io)) };
}

function complain(text: string, io: Io): 1 {
  say(text, io);
  return 1;
}

function say(text: string, { stderr }: Io): void {
  stderr.write(`baton: ${neutraliseLines(text)}\n`);
}

/** What has been printed of the run that was printed last. */
export interface SeenLog {
  readonly runId: string | null;
  readonly entries: readonly TimelineEntry[];
}

export interface LogToFollow {
  readonly target: DaemonTarget;
  readonly issue: string;
  readonly seen: SeenLog;
}

/** Enough to find the place again. */
const KEPT_ENTRIES = 1_000;

/** The event `timeline` of the stream. */
const newsShape = timelineShape.extend({ reset: z.boolean(), plan: timelineShape.shape.plan.nullable() });

/** Prints what happens from here on, run after run, until somebody has seen enough. Throws `ApiError`. */
export async function followLog(
  { target, issue, seen: begin }: LogToFollow,
  stateDir: string,
  io: Io,
  frame: () => LogFrame,
) {
  const interruption = untilInterrupted(io);
  let seen = begin;
  let isGone = false;
  const print = (runId: string, fresh: readonly TimelineEntry[], isCut: boolean) => {
    const isOther = seen.runId !== runId;
    const gap = isOther && seen.runId !== null ? '\n' : '';
    const cut = isOther && isCut ? '… the beginning is left out, see --raw\n' : '';
    if (fresh.length > 0) io.stdout.write(`${gap}${cut}${renderEntries(fresh, frame())}`);
    seen = { runId, entries: [...(isOther ? [] : seen.entries), ...fresh].slice(-KEPT_ENTRIES) };
  };
  const tell = (text: string) => io.stderr.write(`baton: ${neutraliseLines(text)}\n`);
  try {
    const path = `/api/v1/events?issue=${encodeURIComponent(issue)}`;
    for await (const news of followDaemon(target, path, io, interruption.signal)) {
      if ('gone' in news) {
        isGone = true;
        const missed = await writtenDown(stateDir, seen.runId);
        if (seen.runId !== null) print(seen.runId, unseenEntries(seen.entries, missed), false);
        tell(`${news.gone}. Waiting for it (Ctrl-C ends this)`);
        continue;
      }
      if (isGone) tell('the daemon is there again');
      isGone = false;
      if (news.event.event !== 'timeline') continue;
      const { run_id, reset, truncated, entries } = read(news.event.data);
      if (run_id === null) continue;
      const isKnown = run_id === seen.runId;
      print(run_id, isKnown && reset ? unseenEntries(seen.entries, entries) : entries, truncated);
    }
    return 0;
  } finally {
    interruption.restore();
  }
}

/** What a daemon wrote before it ended and could not tell any more. */
async function writtenDown(stateDir: string, runId: string | null): Promise<readonly TimelineEntry[]> {
  if (runId === null) return [];
  const timeline = await readTimeline(join(stateDir, 'transcripts', transcriptName(runId)), runId).catch(() => null);
  return timeline?.entries ?? [];
}

function read(data: unknown): z.infer<typeof newsShape> {
  const found = newsShape.safeParse(data);
  if (found.success) return found.data;
  throw badAnswer('the daemon sent something that this version of Baton does not know', found.error);
}
