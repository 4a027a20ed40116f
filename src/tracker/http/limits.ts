import type { IncomingHttpHeaders } from 'node:http';
import type { RateLimit } from '../../domain/ports.js';

/** What the headers of an answer say of our quota, and what it took of it (absent: 1); `null`: nothing. */
export type ReadQuota = (headers: IncomingHttpHeaders, nowMs: number) => RateLimit | null;

/** Nobody says when it ends: long enough to be polite, short enough to notice. */
const UNTOLD_WAIT_MS = 60_000;
/** A reset in a year is a mistake of somebody's clock. */
const MAX_WAIT_MS = 24 * 3_600_000;

/** A count and a time of reset, each under its own header. */
export function quotaIn(remainingHeader: string, resetHeader: string, unit: 'seconds' | 'milliseconds'): ReadQuota {
  return (headers, nowMs) => {
    const remaining = numberIn(headers, remainingHeader);
    const reset = numberIn(headers, resetHeader);
    if (remaining === null || reset === null) return null;
    return { remaining, resetAtMs: clamped(reset * (unit === 'seconds' ? 1000 : 1), nowMs) };
  };
}

/** When a refused request may be tried again: as `Retry-After` says, else with the quota that is used up, else in a minute. */
export function resetOf(headers: IncomingHttpHeaders, readQuota: ReadQuota, nowMs: number): number {
  const waitMs = retryAfterMs(headers['retry-after'], nowMs);
  if (waitMs !== null) return clamped(nowMs + waitMs, nowMs);
  const quota = readQuota(headers, nowMs);
  // Where something is left of it another limit was met, which ends earlier.
  const isUsedUp = quota !== null && quota.remaining <= 0 && quota.resetAtMs > nowMs;
  return isUsedUp ? quota.resetAtMs : nowMs + UNTOLD_WAIT_MS;
}

/** Seconds, or a date. */
function retryAfterMs(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null;
  const waitMs = /^\d{1,9}$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - nowMs;
  return Number.isFinite(waitMs) && waitMs >= 0 ? waitMs : null;
}

export function numberIn(headers: IncomingHttpHeaders, name: string): number | null {
  const header = headers[name];
  const value = typeof header === 'string' && /^\d{1,15}$/.test(header.trim()) ? Number(header) : Number.NaN;
  return Number.isSafeInteger(value) ? value : null;
}

function clamped(atMs: number, nowMs: number): number {
  return Math.min(atMs, nowMs + MAX_WAIT_MS);
}
