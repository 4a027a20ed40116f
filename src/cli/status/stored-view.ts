import type { Claim } from '../../domain/claim.js';
import type { Instant } from '../../domain/clock.js';
import type { Durable, DurableClaim } from '../../domain/durable.js';
import { isoTime } from '../../text/iso-time.js';
import { doneEntry, issueFields, parkedEntry, retryingEntry } from '../../status/issue-entries.js';
import type { AskingView } from '../../status/shapes/entry-shapes.js';
import type { StateView } from '../../api/schemas.js';

/** What a daemon that is not there has left behind, in the words of its state. */
export interface StoredView extends Pick<StateView, 'asking' | 'retrying' | 'parked' | 'done'> {
  /** They go on when a daemon is started. */
  readonly interrupted: readonly { readonly identifier: string; readonly title: string; readonly number: number }[];
  readonly holds: readonly { readonly code: string; readonly message: string }[];
  readonly pausedSince: string | null;
}

const DAY_MS = 86_400_000;

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
