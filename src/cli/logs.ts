import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { readTimeline } from '../api/read-timeline.js';
import type { Timeline, TimelineEntry } from '../api/schemas.js';
import type { RunRecord } from '../domain/durable.js';
import { timeOf } from '../domain/json.js';
import { nearestWord } from '../domain/nearest-word.js';
import { transcriptName } from '../logging/transcript.js';
import { isoTime } from '../text/format-time.js';
import { neutraliseJson } from '../text/neutralise.js';
import {
  ApiError,
  checkShape,
  connectDaemon,
  type DaemonClient,
  type DaemonTarget,
  isNotRunning,
  issuePath,
  lateShape,
  locateDaemon,
  nearestIssue,
  printDaemonError,
} from './client.js';
import { type Io, printProblem } from './io.js';
import { type LogFrame, type LoggedRun, renderEntries, renderRunHead } from './logs-view.js';
import { isTerminal, paintOf, wantsColour } from './terminal.js';

export interface LogsOptions extends DaemonTarget, RunChoice {
  readonly issue: string;
  readonly follow: boolean;
  readonly raw: boolean;
}

/** Prints the events of the runs of an issue, from the daemon or, when none is running, from its files. */
export async function logs(options: LogsOptions, io: Io): Promise<number> {
  const { workflow, stateDir, follow } = options;
  const location = await locateDaemon({ workflow, stateDir }, io);
  let client: DaemonClient | null = null;
  try {
    client = await connectOrNull(options, io);
    if (!client && location.isNowhere) return printDaemonError(location.notRunning(), io);
    const source = client ? daemonLogs(client, options.issue) : storedLogs(location.stateDir, options.issue);
    const found = await source.findIssue();
    if (found === null) return await printUnknownIssue(source, options.issue, client !== null, io);
    const { identifier: issue, runs } = found;
    const chosen = chooseRuns(runs, options, issue);
    if (typeof chosen === 'string') return printProblem(chosen, 1, io);
    if (!client && !follow) printProblem('no daemon is running; this is the log of the last one', 0, io);
    if (options.raw) return await printTranscripts(chosen, source, issue, io);
    if (chosen.length === 0) printProblem(`${issue} has had no run yet${follow ? '; waiting for one' : ''}`, 0, io);
    const printed = await printRuns(chosen, source, issue, io);
    if (!follow) return 0;
    client?.close();
    return await followLog({ workflow, stateDir }, issue, printed, location.stateDir, io);
  } catch (error) {
    return printDaemonError(error, io);
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

async function printUnknownIssue(source: LogSource, issue: string, hasDaemon: boolean, io: Io): Promise<number> {
  const near = await source.nearestIssue();
  const why = hasDaemon
    ? 'is neither claimed nor among the issues of the last poll, and has had no run'
    : 'has had no run, and no daemon is running that might know it';
  return printProblem(`${issue} ${why}${near === null ? '' : `. Did you mean ${near}?`}`, 1, io);
}

async function printTranscripts(runs: readonly LoggedRun[], source: LogSource, issue: string, io: Io): Promise<number> {
  let printed = 0;
  for (const run of runs) {
    const text = await source.transcript(run.run_id);
    if (text === null) continue;
    printed += 1;
    const lines = text.split('\n').map(neutraliseJson).join('\n');
    io.stdout.write(lines.endsWith('\n') ? lines : `${lines}\n`);
  }
  return printed > 0 ? 0 : printProblem(`there is no transcript of ${issue}, or it has been removed`, 1, io);
}

/** What has been printed of the last run, so that following continues after it. */
interface PrintedLog {
  readonly runId: string | null;
  readonly entries: readonly TimelineEntry[];
}

async function printRuns(runs: readonly LoggedRun[], source: LogSource, issue: string, io: Io): Promise<PrintedLog> {
  let printed: PrintedLog = { runId: null, entries: [] };
  for (const [at, run] of runs.entries()) {
    const timeline = await source.timeline(run.run_id);
    const frame = frameOf(io);
    const head = `${at === 0 ? '' : '\n'}${renderRunHead(issue, run, frame)}`;
    const gap = timeline?.truncated ? `${frame.paint.dim(TRUNCATED)}\n` : '';
    const body = timeline === null ? `${frame.paint.dim(NO_TRANSCRIPT)}\n` : renderEntries(timeline.entries, frame);
    io.stdout.write(`${head}${gap}${body}`);
    printed = { runId: run.run_id, entries: timeline?.entries ?? [] };
  }
  return printed;
}

const TRUNCATED = '… the beginning is left out, see --raw';
const NO_TRANSCRIPT = 'there is no transcript of this run, or it has been removed';

function frameOf(io: Io): LogFrame {
  const width = isTerminal(io) ? (io.stdout.columns ?? null) : null;
  return { nowMs: Date.now(), width, paint: paintOf(wantsColour(io)) };
}

/** How many printed entries are compared with the entries of a new connection. */
const MAX_COMPARED = 1_000;

/** Prints new events, run after run, until it is interrupted. Throws `ApiError`. */
async function followLog(
  target: DaemonTarget,
  issue: string,
  alreadyPrinted: PrintedLog,
  stateDir: string,
  io: Io,
): Promise<number> {
  const { followDaemon, untilInterrupted } = await import('./follow-daemon.js');
  const { timelineEventShape } = await import('../api/schemas.js');
  const interruption = untilInterrupted(io);
  let printed = alreadyPrinted;
  let isGone = false;
  const print = (runId: string, entries: readonly TimelineEntry[], isTruncated: boolean) => {
    const isOtherRun = printed.runId !== runId;
    const gap = isOtherRun && printed.runId !== null ? '\n' : '';
    const note = isOtherRun && isTruncated ? `${TRUNCATED}\n` : '';
    if (entries.length > 0) io.stdout.write(`${gap}${note}${renderEntries(entries, frameOf(io))}`);
    printed = { runId, entries: [...(isOtherRun ? [] : printed.entries), ...entries].slice(-MAX_COMPARED) };
  };
  try {
    const path = `/api/v1/events?issue=${encodeURIComponent(issue)}`;
    for await (const followed of followDaemon(target, path, io, interruption.signal)) {
      if ('gone' in followed) {
        isGone = true;
        // The daemon may have written entries that it could not send any more.
        if (printed.runId !== null) {
          const written = await readEntries(stateDir, printed.runId);
          print(printed.runId, unseenEntries(printed.entries, written), false);
        }
        printProblem(`${followed.gone}. Waiting for the daemon (Ctrl-C stops this)`, 0, io);
        continue;
      }
      if (isGone) printProblem('the daemon is running again', 0, io);
      isGone = false;
      if (followed.event.event !== 'timeline') continue;
      const { run_id, reset, truncated, entries } = checkShape(followed.event.data, timelineEventShape);
      if (run_id === null) continue;
      const isRepeated = run_id === printed.runId && reset;
      print(run_id, isRepeated ? unseenEntries(printed.entries, entries) : entries, truncated);
    }
    return 0;
  } finally {
    interruption.restore();
  }
}

async function readEntries(stateDir: string, runId: string): Promise<readonly TimelineEntry[]> {
  const timeline = await readTimeline(join(stateDir, 'transcripts', transcriptName(runId)), runId).catch(() => null);
  return timeline?.entries ?? [];
}

interface LoggedIssue {
  /** As the tracker writes it: the user may have typed `task-1` for TASK-1. */
  readonly identifier: string;
  /** Newest first. */
  readonly runs: readonly LoggedRun[];
}

/** The logs of one issue, from the daemon or from the files that it has left. */
interface LogSource {
  /** Call it first: the other methods are about the issue that it finds. */
  findIssue(): Promise<LoggedIssue | null>;
  /** Null when there is no transcript, or none any more. */
  timeline(runId: string): Promise<Timeline | null>;
  /** JSON lines. */
  transcript(runId: string): Promise<string | null>;
  /** A known identifier that is spelled like the given one. */
  nearestIssue(): Promise<string | null>;
}

function daemonLogs(client: DaemonClient, issue: string): LogSource {
  let name = issue;
  const runPath = (resource: string, runId: string) => `${issuePath(name, resource)}?run=${encodeURIComponent(runId)}`;
  return {
    async findIssue() {
      const view = await client.get(issuePath(issue), lateShape('issueShape')).catch(nullIfNotFound);
      if (view === null) return null;
      name = view.issue_identifier;
      return { identifier: name, runs: view.history };
    },
    timeline: (runId) => client.get(runPath('timeline', runId), lateShape('timelineShape')).catch(nullIfNotFound),
    transcript: (runId) => client.text(runPath('transcript', runId)).catch(nullIfNotFound),
    nearestIssue: () => nearestIssue(client, issue),
  };
}

function nullIfNotFound(error: unknown): null {
  if (error instanceof ApiError && error.status === 404) return null;
  throw error;
}

/** Reads a copy of the store, and the transcripts. */
function storedLogs(stateDir: string, issue: string): LogSource {
  const pathOf = (runId: string) => join(stateDir, 'transcripts', transcriptName(runId));
  const read = async () => {
    const { readPast } = await import('./stored-past.js');
    return readPast(stateDir, issue);
  };
  return {
    async findIssue() {
      const { identifier, records } = await read();
      return identifier === null ? null : { identifier, runs: records.map(toRun) };
    },
    timeline: (runId) => readTimeline(pathOf(runId), runId),
    transcript: (runId) => readTranscript(pathOf(runId)),
    nearestIssue: async () => nearestWord(issue, (await read()).known),
  };
}

function toRun({ runId, number, reason, startedAtMs, end }: RunRecord): LoggedRun {
  return {
    ...{ run_id: runId, run_number: number, reason, started_at: isoTime(startedAtMs) },
    ended_at: end && isoTime(end.atMs),
    ...{ outcome: end?.outcome ?? null, code: end?.code ?? null, message: end?.message ?? null },
    ...(end?.afterRunFailed ? { after_run_failed: true } : {}),
  };
}

/** Longer than any transcript of ours. */
const MAX_BYTES = 64 * 1024 * 1024;

async function readTranscript(path: string): Promise<string | null> {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (file === null) return null;
  try {
    const { size } = await file.stat();
    if (size > MAX_BYTES) throw new Error(`${path} has more than ${MAX_BYTES} bytes`);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

export interface RunChoice {
  /** The number of a run, its id, or the beginning of its id. */
  readonly run?: string | undefined;
  readonly all: boolean;
}

/** The chosen runs, oldest first, or why there are none. `runs` is newest first. */
export function chooseRuns(
  runs: readonly LoggedRun[],
  { run, all }: RunChoice,
  issue: string,
): readonly LoggedRun[] | string {
  if (all) return [...runs].reverse();
  if (run === undefined) return runs.slice(0, 1);
  const byNumber = /^\d+$/.test(run) ? runs.filter(({ run_number }) => run_number === Number(run)) : [];
  const exact = byNumber.length > 0 ? byNumber : runs.filter(({ run_id }) => run_id === run);
  // An id may begin with digits: the number of a missing run must not match another run.
  const isNumber = /^\d{1,4}$/.test(run);
  const found = exact.length > 0 || isNumber ? exact : runs.filter(({ run_id }) => run_id.startsWith(run));
  if (found.length === 1) return found;
  if (found.length > 1)
    return `several runs of ${issue} begin with ${run}: ${found.map(({ run_id }) => run_id).join(', ')}`;
  const known = runs.map(({ run_number }) => run_number).reverse();
  return `${issue} has no run ${run}${known.length === 0 ? '' : `; there are ${known.join(', ')}`}`;
}

/** The stream and the transcript date an entry at slightly different times. */
const SAME_MS = 1_000;
/** That many equal entries in a row are no coincidence. */
const MATCHING = 5;

/**
 * The entries that were not printed yet. A new stream repeats its last entries, and the file repeats those of the stream. Looks for the last
 * printed entry, whose predecessors must match too. The file of a killed daemon may end before it: then all of its entries were printed.
 * Without a match all entries are new.
 */
export function unseenEntries(
  seen: readonly TimelineEntry[],
  entries: readonly TimelineEntry[],
): readonly TimelineEntry[] {
  if (seen.length === 0) return entries;
  for (let end = entries.length; end > 0; end--) {
    if (endsAlike(seen, entries.slice(Math.max(0, end - MATCHING), end))) return entries.slice(end);
  }
  const isBehind = seen.some((_, at) => endsAlike(entries, seen.slice(Math.max(0, at + 1 - MATCHING), at + 1)));
  return isBehind ? [] : entries;
}

function endsAlike(seen: readonly TimelineEntry[], part: readonly TimelineEntry[]): boolean {
  const count = Math.min(seen.length, part.length);
  const [a, b] = [seen.slice(-count), part.slice(-count)];
  return a.every((entry, at) => isSame(entry, b[at]));
}

function isSame(a: TimelineEntry, b: TimelineEntry | undefined): boolean {
  if (b === undefined || a.kind !== b.kind || a.text !== b.text) return false;
  const [first, second] = [timeOf(a.at), timeOf(b.at)];
  return first === null || second === null ? first === second : Math.abs(first - second) <= SAME_MS;
}
