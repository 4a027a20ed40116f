import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { AskingView } from '../api/schemas.js';
import { doneEntry, issueFields, parkedEntry, questionEntry, retryingEntry } from '../api/snapshot.js';
import { createClock } from '../clock.js';
import type { Claim } from '../domain/claim.js';
import { DAY_MS, type Instant } from '../domain/clock.js';
import type { Durable, DurableClaim } from '../domain/durable.js';
import { readStored } from '../store/read-stored.js';
import { isoTime } from '../text/format-time.js';
import type { StoredView } from './status-view.js';

// What `baton status` shows without a daemon.

interface StoredStatus {
  readonly view: StoredView;
  /** Null when nothing is stored. */
  readonly storedAtMs: number | null;
}

export async function readStoredStatus(stateDir: string): Promise<StoredStatus> {
  const storedAtMs = await storedAt(stateDir);
  const durable = await readStored(stateDir);
  const clock = createClock();
  const view = storedView(durable, clock.now());
  clock.close();
  return { view, storedAtMs };
}

/** The newest changes may only be in the write-ahead log. */
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

export function storedView(durable: Durable, now: Instant): StoredView {
  const claims = Object.values(durable.claims).map(withoutLiveState);
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
        const times = { asked_at: null, answer_until: null, on_timeout: 'park' } as const;
        return { ...issueFields(issue), run_id: run.runId, ...times, questions: run.questions.map(questionEntry) };
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

function withoutLiveState(claim: DurableClaim): Claim {
  return { ...claim, live: { issueSeq: 0, refusals: 0, run: null } };
}
