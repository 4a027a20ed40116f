import { BatonError } from '../src/domain/errors.js';
import { withinLimit } from '../src/domain/time-limit.js';
import type { Attempt, RunDeps } from './run-attempt.js';

const READ_TIMEOUT_MS = 60_000;

/**
 * The same run with what people said about its issue, which lists do not carry. When it cannot be read the run fails before it costs anything:
 * an agent that has not heard its reviewer does the wrong work again.
 */
export async function withComments(
  attempt: Attempt,
  { clock, tracker }: Pick<RunDeps, 'clock' | 'tracker'>,
): Promise<Attempt> {
  if (!tracker.readComments) return attempt;
  const { order, signal } = attempt;
  const late = () =>
    new BatonError('tracker_request', `the tracker did not tell the comments within ${READ_TIMEOUT_MS / 1000} s`);
  const ask = async (inner: AbortSignal) => (await tracker.readComments?.(order.issue, inner)) ?? [];
  const comments = await withinLimit(clock, READ_TIMEOUT_MS, ask, late, signal);
  return {
    ...{ workflow: attempt.workflow, signal, controls: attempt.controls },
    order: { ...order, issue: { ...order.issue, comments } },
    emit: (said) => attempt.emit(said),
    // Not a copy: the run may be stopped at any time.
    get stoppedAtAwakeMs() {
      return attempt.stoppedAtAwakeMs;
    },
  };
}
