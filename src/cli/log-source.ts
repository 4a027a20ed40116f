import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { readTimeline } from '../api/read-timeline.js';
import { type RunView, stateShape, type Timeline, type TimelineEntry, timelineShape } from '../api/schemas.js';
import type { RunRecord } from '../domain/durable.js';
import { nearestWord } from '../domain/nearest-word.js';
import { transcriptName } from '../logging/transcript.js';
import { withStoredCopy } from '../store/read-stored.js';
import { openSqliteStore } from '../store/sqlite-store.js';
import { msOf } from '../text/format-duration.js';
import { isoTime } from '../text/iso-time.js';
import { ApiError, type DaemonClient } from './client.js';
import { getIssue, pathOf } from './with-daemon.js';

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
  const pathOfRun = (what: string, runId: string) => `${pathOf(name, what)}?run=${encodeURIComponent(runId)}`;
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
      const alike = known.filter((name) => name.toLowerCase() === issue.toLowerCase());
      const name = known.includes(issue) || alike.length !== 1 ? issue : (alike[0] ?? issue);
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
  const [first, second] = [msOf(a.at), msOf(b.at)];
  return first === null || second === null ? first === second : Math.abs(first - second) <= SAME_MS;
}
