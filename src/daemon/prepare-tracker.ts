import type { Logger } from 'pino';
import type { Clock } from '../domain/clock.js';
import { BatonError, toBatonError } from '../domain/errors.js';
import type { Tracker } from '../domain/ports.js';
import { withinLimit } from '../domain/time-limit.js';

const LIMIT_MS = 10_000;

/** When the tracker may be asked again, where it limits us already. */
export interface Prepared {
  readonly limitedUntilMs?: number;
}

export interface PrepareOptions {
  readonly tracker: Tracker;
  readonly clock: Clock;
  readonly log: Logger;
  /** Somebody wants the daemon to end before it has begun. */
  readonly signal: AbortSignal | undefined;
}

/** Lets the tracker refuse settings that must not start. A tracker that is down is no reason: polls say so, and go on trying. */
export async function prepareTracker({ tracker, clock, log, signal: outer }: PrepareOptions): Promise<Prepared> {
  if (!tracker.prepare) return {};
  const late = () => new BatonError('tracker_request', `the tracker did not answer within ${LIMIT_MS / 1000} s`);
  try {
    await withinLimit(clock, LIMIT_MS, async (signal) => tracker.prepare?.(signal), late, outer);
    return {};
  } catch (thrown) {
    const error = toBatonError(thrown, 'tracker_request');
    if (error.code === 'invalid_tracker_config') throw error;
    log.debug({ code: error.code, detail: error.message }, 'tracker could not be looked at before the first poll');
    const { resetAtMs } = error.details;
    return error.code === 'tracker_rate_limited' && typeof resetAtMs === 'number' ? { limitedUntilMs: resetAtMs } : {};
  }
}
