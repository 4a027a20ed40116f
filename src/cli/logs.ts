import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { readTimeline } from '../api/read-timeline.js';
import { type RunView, stateShape, type Timeline, type TimelineEntry, timelineShape } from '../api/schemas.js';
import type { RunRecord } from '../domain/durable.js';
import { findIssue } from '../domain/issue.js';
import { timeOf } from '../domain/json.js';
import { nearestWord } from '../domain/nearest-word.js';
import { transcriptName } from '../logging/transcript.js';
import { withStoredCopy } from '../store/read-stored.js';
import { openSqliteStore } from '../store/sqlite-store.js';
import { isoTime } from '../text/format-time.js';
import { neutraliseJson, neutraliseLines } from '../text/neutralise.js';
import {
  ApiError,
  badAnswer,
  connectDaemon,
  type DaemonClient,
  type DaemonTarget,
  getIssue,
  isNotRunning,
  issuePath,
  locateDaemon,
  printDaemonError,
} from './client.js';
import { followDaemon, untilInterrupted } from './follow-daemon.js';
import type { Io } from './io.js';
import { type LogFrame, renderEntries, renderRunHead } from './logs-view.js';
import { isTerminal, paintOf, wantsColour } from './terminal.js';

export interface LogsOptions extends DaemonTarget, RunChoice {
  readonly issue: string;
  readonly follow: boolean;
  readonly raw: boolean;
}

/** Prints what happened in runs of an issue, by the daemon or, where none runs, from what it has written down. */
export async function logs(options: LogsOptions, io: Io): Promise<number> {
  const { workflow, stateDir, follow } = options;
  const place = await locateDaemon({ workflow, stateDir }, io);
  let client: DaemonClient | null = null;
  try {
    client = await connectOrNull(options, io);
    if (!client && place.isNowhere) return printDaemonError(place.notRunning(), io);
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

/** A run, as far as its log needs it. */
export type LoggedRun = Pick<
  RunView,
  'run_id' | 'run_number' | 'reason' | 'started_at' | 'ended_at' | 'outcome' | 'code' | 'message'
>;

/** An issue under its own name, which may be another than was typed: `task-1` is TASK-1. */
interface LoggedIssue {
  readonly identifier: string;
  /** The newest first. */
  readonly runs: readonly LoggedRun[];
}

/** Where the logs of an issue come from: the daemon, or the files that it has left. */
export interface LogSource {
  /** `null`: no such issue is known. From here on the others are about the one that was found. */
  find(): Promise<LoggedIssue | null>;
  /** `null`: nothing was written down, or it is gone by now. */
  timeline(runId: string): Promise<Timeline | null>;
  /** JSON lines. */
  transcript(runId: string): Promise<string | null>;
  /** Another name that was probably meant. */
  meant(): Promise<string | null>;
}

const RUNS = 50;
const NAMES = 1_000;
/** A transcript has 50 MB at most; what is longer is none of ours. */
const MAX_BYTES = 64 * 1024 * 1024;

export function daemonLogs(client: DaemonClient, issue: string): LogSource {
  let name = issue;
  const pathOfRun = (what: string, runId: string) => `${issuePath(name, what)}?run=${encodeURIComponent(runId)}`;
  return {
    async find() {
      const view = await getIssue(client, issue).catch(orNull);
      if (view === null) return null;
      name = view.issue_identifier;
      return { identifier: name, runs: view.history };
    },
    timeline: (runId) => client.get(pathOfRun('timeline', runId), timelineShape).catch(orNull),
    transcript: (runId) => client.text(pathOfRun('transcript', runId)).catch(orNull),
    async meant() {
      const state = await client.get('/api/v1/state', stateShape);
      const { running, retrying, parked, ready, ineligible, done } = state;
      const known = [...running, ...retrying, ...parked, ...ready, ...ineligible, ...done];
      return nearestWord(
        issue,
        known.map(({ issue_identifier }) => issue_identifier),
      );
    },
  };
}

/** Without a daemon: from a copy of its store, and its transcripts. */
export function storedLogs(stateDir: string, issue: string): LogSource {
  const fileOf = (runId: string) => join(stateDir, 'transcripts', transcriptName(runId));
  return {
    async find() {
      const { identifier, records } = await readPast(stateDir, issue);
      return identifier === null ? null : { identifier, runs: records.map(toRun) };
    },
    timeline: (runId) => readTimeline(fileOf(runId), runId),
    transcript: (runId) => readWhole(fileOf(runId)),
    meant: async () => nearestWord(issue, (await readPast(stateDir, issue)).known),
  };
}

function orNull(error: unknown): null {
  if (error instanceof ApiError && error.status === 404) return null;
  throw error;
}

interface Past {
  /** Of the issue; `null`: nothing is known of it. */
  readonly identifier: string | null;
  readonly records: readonly RunRecord[];
  readonly known: readonly string[];
}

async function readPast(stateDir: string, issue: string): Promise<Past> {
  if (!existsSync(join(stateDir, 'baton.db'))) return { identifier: null, records: [], known: [] };
  return withStoredCopy(stateDir, async (dir) => {
    const store = openSqliteStore({ dir, onWarning: () => {} });
    try {
      const [recent, { claims, finished }] = await Promise.all([store.past.runs({ limit: NAMES }), store.load()]);
      const claimed = Object.values(claims).map((claim) => claim.issue);
      const known = [...new Set([...claimed, ...finished, ...recent].map((one) => one.identifier))];
      const name = findIssue(known, issue, (identifier) => ({ id: identifier, identifier })) ?? issue;
      const records = await store.past.runs({ issue: name, limit: RUNS });
      // By its id it is found, too.
      const identifier = records[0]?.identifier ?? (known.includes(name) ? name : null);
      return { identifier, records, known };
    } finally {
      await store.close();
    }
  });
}

function toRun({ runId, number, reason, startedAtMs, end }: RunRecord): LoggedRun {
  return {
    ...{ run_id: runId, run_number: number, reason, started_at: isoTime(startedAtMs) },
    ended_at: end && isoTime(end.atMs),
    ...{ outcome: end?.outcome ?? null, code: end?.code ?? null, message: end?.message ?? null },
  };
}

async function readWhole(path: string): Promise<string | null> {
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
  /** A number or an id, or how an id begins. */
  readonly run?: string | undefined;
  readonly all: boolean;
}

/** The runs that are meant, the oldest first; a string says why there are none. `runs`: the newest first. */
export function chooseRuns(
  runs: readonly LoggedRun[],
  { run, all }: RunChoice,
  issue: string,
): readonly LoggedRun[] | string {
  if (all) return [...runs].reverse();
  if (run === undefined) return runs.slice(0, 1);
  const byNumber = /^\d+$/.test(run) ? runs.filter(({ run_number }) => run_number === Number(run)) : [];
  const exact = byNumber.length > 0 ? byNumber : runs.filter(({ run_id }) => run_id === run);
  // An id may begin with any digit: the number of a run that is not there must not show another one.
  const isNumber = /^\d{1,4}$/.test(run);
  const found = exact.length > 0 || isNumber ? exact : runs.filter(({ run_id }) => run_id.startsWith(run));
  if (found.length === 1) return found;
  if (found.length > 1)
    return `several runs of ${issue} begin with ${run}: ${found.map(({ run_id }) => run_id).join(', ')}`;
  const known = runs.map(({ run_number }) => run_number).reverse();
  return `${issue} has no run ${run}${known.length === 0 ? '' : `; there are ${known.join(', ')}`}`;
}

/** The same line is dated twice, when it happens and when it is written down. */
const SAME_MS = 1_000;
/** So many in a row are no accident. */
const IN_A_ROW = 5;

/**
 * What of `entries` was not seen yet. A stream that begins anew tells its last entries again, and a file tells what a stream told: the last
 * one that was seen is looked for, and those before it must fit. Where nothing fits, everything is new.
 */
export function unseenEntries(
  seen: readonly TimelineEntry[],
  entries: readonly TimelineEntry[],
): readonly TimelineEntry[] {
  if (seen.length === 0) return entries;
  for (let end = entries.length; end > 0; end--) {
    if (endsAlike(seen, entries.slice(Math.max(0, end - IN_A_ROW), end))) return entries.slice(end);
  }
  return entries;
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
