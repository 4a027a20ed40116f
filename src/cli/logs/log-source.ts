import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { nearestWord } from '../../domain/nearest-word.js';
import type { RunRecord } from '../../domain/run-record.js';
import { transcriptName } from '../../logging/transcript.js';
import { isoTime } from '../../status/iso-time.js';
import { readTimeline } from '../../status/read-timeline.js';
import { issueShape, type RunView, type Timeline, timelineShape } from '../../status/shapes/issue-shape.js';
import { stateShape } from '../../status/shapes/state-shape.js';
import { withStoredCopy } from '../../store/read-stored.js';
import { openSqliteStore } from '../../store/sqlite-store.js';
import { ApiError, type DaemonClient } from '../client/daemon-client.js';

/** A run, as far as its log needs it. */
export type LoggedRun = Pick<
  RunView,
  'run_id' | 'run_number' | 'reason' | 'started_at' | 'ended_at' | 'outcome' | 'code' | 'message'
>;

/** Where the logs of an issue come from: the daemon, or the files that it has left. */
export interface LogSource {
  /** The newest first. `null`: no such issue is known. */
  runs(): Promise<readonly LoggedRun[] | null>;
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
  const base = `/api/v1/${encodeURIComponent(issue)}`;
  const runQuery = (runId: string) => `run=${encodeURIComponent(runId)}`;
  return {
    runs: () => client.get(base, issueShape).then(({ history }) => history, orNull),
    timeline: (runId) => client.get(`${base}/timeline?${runQuery(runId)}`, timelineShape).catch(orNull),
    transcript: (runId) => client.text(`${base}/transcript?${runQuery(runId)}`).catch(orNull),
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
  const pathOf = (runId: string) => join(stateDir, 'transcripts', transcriptName(runId));
  return {
    async runs() {
      const { records, known } = await readPast(stateDir, issue);
      return records.length > 0 || known.includes(issue) ? records.map(toRun) : null;
    },
    timeline: (runId) => readTimeline(pathOf(runId), runId),
    transcript: (runId) => readWhole(pathOf(runId)),
    meant: async () => nearestWord(issue, (await readPast(stateDir, issue)).known),
  };
}

function orNull(error: unknown): null {
  if (error instanceof ApiError && error.status === 404) return null;
  throw error;
}

interface Past {
  readonly records: readonly RunRecord[];
  readonly known: readonly string[];
}

async function readPast(stateDir: string, issue: string): Promise<Past> {
  if (!existsSync(join(stateDir, 'baton.db'))) return { records: [], known: [] };
  return withStoredCopy(stateDir, async (dir) => {
    const store = openSqliteStore({ dir, onWarning: () => {} });
    try {
      const [records, recent, { claims, finished }] = await Promise.all([
        store.past.runs({ issue, limit: RUNS }),
        store.past.runs({ limit: NAMES }),
        store.load(),
      ]);
      const claimed = Object.values(claims).map((claim) => claim.issue);
      const known = [...claimed, ...finished, ...recent].map(({ identifier }) => identifier);
      return { records, known: [...new Set(known)] };
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
