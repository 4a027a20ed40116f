import type { Claim } from '../src/domain/claim.js';
import type { Instant } from '../src/domain/clock.js';
import { FINISHED_KEPT, type FinishedIssue, finishedKey } from '../src/domain/finished.js';
import type { Draft } from './draft.js';
import { recordOf } from './state.js';

/** Remembers that an issue has left our hands, for people who ask in the morning. One that never had a run was never in them: `false`. */
export function finish(draft: Draft, { issue }: Claim, isTerminal: boolean, now: Instant): boolean {
  const { runs, tokens } = recordOf(draft.state, issue.id);
  if (runs === 0) return false;
  const { id: issueId, identifier, title, url, state } = issue;
  const done: FinishedIssue = { issueId, identifier, title, url, state, isTerminal, atMs: now.wallMs, runs, tokens };
  const others = draft.state.finished.filter((one) => finishedKey(one) !== finishedKey(done));
  draft.set({ finished: [...others, done].slice(-FINISHED_KEPT) });
  draft.note('info', isTerminal ? 'issue is done' : 'issue was handed over', {
    issueId,
    identifier,
    fields: { state, runs, tokens },
  });
  return true;
}
