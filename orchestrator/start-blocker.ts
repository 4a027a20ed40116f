import type { Instant } from '../src/domain/clock.js';
import { isRateLimited } from './poll.js';
import type { State } from './state.js';

export type StartBlocker =
  | 'shutting_down'
  | 'reopening'
  | 'paused'
  | 'not_polled_yet'
  | 'poll_failed'
  | 'poll_too_old'
  | 'rate_limited';

/** Why no issue can start now, apart from holds and slots. Null when starts are allowed. */
export function startBlocker(state: State, now: Instant): StartBlocker | null {
  const { poll, config } = state;
  if (state.shutdown !== null) return 'shutting_down';
  if (state.reopenFor.length > 0) return 'reopening';
  if (state.pausedSinceMs !== null) return 'paused';
  if (isRateLimited(state, now)) return 'rate_limited';
  if (poll.failure !== null) return 'poll_failed';
  if (poll.lastOkAtMs === null) return 'not_polled_yet';
  const paceMs = Math.max(config.polling.intervalMs, poll.slowMs ?? 0);
  return now.wallMs - poll.lastOkAtMs > 2 * paceMs ? 'poll_too_old' : null;
}
