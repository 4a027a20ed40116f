import { BatonError } from '../src/domain/errors.js';
import type { Issue } from '../src/domain/issue.js';
import { withinLimit } from '../src/domain/time-limit.js';
import type { Attempt, RunDeps } from './run-attempt.js';

const REFRESH_TIMEOUT_MS = 60_000;

/** The issue as the tracker has it now; `null` when it knows nothing at the moment. A gone one has left the active states. */
export async function reread(
  issue: Issue,
  { signal }: Pick<Attempt, 'signal'>,
  { clock, tracker }: Pick<RunDeps, 'clock' | 'tracker'>,
): Promise<Issue | null> {
  const late = () =>
    new BatonError('tracker_request', `the tracker did not answer within ${REFRESH_TIMEOUT_MS / 1000} s`);
  const ask = (inner: AbortSignal) => tracker.issuesByIds([issue.id], inner);
  const batch = await withinLimit(clock, REFRESH_TIMEOUT_MS, ask, late, signal);
  const found = batch.issues.find((one) => one.id === issue.id);
  if (found || batch.unknown.includes(issue.id)) return found ?? null;
  return { ...issue, dispatchable: false };
}
