import { join } from 'node:path';
import { z } from 'zod';
import { neutraliseLines } from '../../text/neutralise.js';
import { transcriptName } from '../../logging/transcript.js';
import { readTimeline } from '../../api/read-timeline.js';
import { type TimelineEntry, timelineShape } from '../../status/shapes/issue-shape.js';
import { badAnswer } from '../client/api-error.js';
import type { DaemonTarget } from '../daemon-place.js';
import { followDaemon } from '../follow-daemon.js';
import { untilInterrupted } from '../client/until-interrupted.js';
import type { Io } from '../io.js';
import { type LogFrame, renderEntries } from '../logs-view.js';
import { unseenEntries } from './unseen-entries.js';

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
