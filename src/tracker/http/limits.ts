import type { IncomingHttpHeaders } from 'node:http';
import { BatonError } from '../../domain/errors.js';
import { fieldsOf, listOf, textOf } from '../../domain/json.js';
import type { RateLimit } from '../../domain/ports.js';
import { shown } from '../../text/neutralise.js';

/** Reads the quota and the cost of a response (1 by default) from its headers; null when they have none. */
export type ReadQuota = (headers: IncomingHttpHeaders, nowMs: number) => RateLimit | null;

/** For a rate limit without a reset time. */
const DEFAULT_WAIT_MS = 60_000;
/** A later reset is a clock error. */
const MAX_WAIT_MS = 24 * 3_600_000;

/** Reads a quota whose count and reset time have a header each. */
export function quotaIn(remainingHeader: string, resetHeader: string, unit: 'seconds' | 'milliseconds'): ReadQuota {
  return (headers, nowMs) => {
    const remaining = numberIn(headers, remainingHeader);
    const reset = numberIn(headers, resetHeader);
    if (remaining === null || reset === null) return null;
    return { remaining, resetAtMs: clamped(reset * (unit === 'seconds' ? 1000 : 1), nowMs) };
  };
}

/** When to retry a rate-limited request: by `Retry-After`, else when the used-up quota resets, else in a minute. */
export function resetOf(headers: IncomingHttpHeaders, readQuota: ReadQuota, nowMs: number): number {
  const waitMs = retryAfterMs(headers['retry-after'], nowMs);
  if (waitMs !== null) return clamped(nowMs + waitMs, nowMs);
  const quota = readQuota(headers, nowMs);
  // A quota with something left means that another limit was hit, which resets earlier.
  const isUsedUp = quota !== null && quota.remaining <= 0 && quota.resetAtMs > nowMs;
  return isUsedUp ? quota.resetAtMs : nowMs + DEFAULT_WAIT_MS;
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

/** The request in an error message. */
export interface RequestInfo {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly tokenFrom: string;
}

/** 401 and 403 concern the token, any other status the request or the server. `details.status` holds it. */
export function badStatus(
  where: RequestInfo,
  status: number,
  body: string,
  mask: (text: string) => string,
): BatonError {
  const reason = reasonIn(body, mask);
  const detail = reason === '' ? '' : ` It says: ${reason}`;
  if (status === 401 || status === 403) {
    const problem =
      status === 401
        ? `${where.name} does not accept the token of ${where.tokenFrom} (401): it is wrong, was revoked or has expired.`
        : `${where.name} forbids ${where.method} ${where.path} to the token of ${where.tokenFrom} (403): it lacks a permission.`;
    const action = `Put a good token into ${where.tokenFrom} and restart, or give it the rights that docs/trackers.md lists.`;
    return new BatonError('tracker_auth', `${problem} ${action}${detail}`, { status });
  }
  const message = `${where.name}: ${where.method} ${where.path} answered ${status}.${detail}`;
  return new BatonError('tracker_status', message, { status });
}

export function tooManyRequests(where: RequestInfo, resetAtMs: number): BatonError {
  const until = new Date(resetAtMs).toISOString();
  const message = `${where.name} limits our requests until ${until}. Nothing to do: Baton waits. If it happens often, raise polling.interval_ms.`;
  return new BatonError('tracker_rate_limited', message, { resetAtMs });
}

/** The reason that a tracker gives for a refusal, from the usual fields, on one line and without secrets. */
export function reasonIn(body: string, mask: (text: string) => string): string {
  let parsed: unknown = null;
  try {
    parsed = JSON.parse(body);
  } catch {
    // An HTML page holds no usable reason.
    if (/^\s*</.test(body)) return '';
  }
  return shown(parsed === null ? body : messageIn(parsed), mask);
}

function messageIn(value: unknown): string {
  const { message, error, errors, errorMessages, error_description: description } = fieldsOf(value);
  const many = [...listOf(errorMessages), ...listOf(errors)].map((one) => textOf(one) ?? textOf(fieldsOf(one).message));
  const byField = Object.values(fieldsOf(errors)).map(textOf);
  const single = [message, error, fieldsOf(error).message, description].map(textOf);
  const nested = message !== null && typeof message === 'object' ? [JSON.stringify(message)] : [];
  return [...single, ...many, ...byField, ...nested].filter((one) => one !== null).join('; ');
}
