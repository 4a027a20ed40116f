import type { IncomingHttpHeaders } from 'node:http';
import { BatonError } from '../../domain/errors.js';
import { fieldsOf, listOf, textOf } from '../../domain/json.js';
import type { RateLimit } from '../../domain/ports.js';
import { shown } from '../../text/neutralise.js';

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

export interface AskedWhere {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly tokenFrom: string;
}

/** 401 and 403 are about the token; everything else is about the request or the server. `details.status` says which. */
export function badStatus(where: AskedWhere, status: number, body: string, mask: (text: string) => string): BatonError {
  const said = saidIn(body, mask);
  const detail = said === '' ? '' : ` It says: ${said}`;
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

export function tooManyRequests(where: AskedWhere, resetAtMs: number): BatonError {
  const until = new Date(resetAtMs).toISOString();
  const message = `${where.name} limits our requests until ${until}. Nothing to do: Baton waits. If it happens often, raise polling.interval_ms.`;
  return new BatonError('tracker_rate_limited', message, { resetAtMs });
}

/** What a tracker says about its refusal, where trackers commonly say it, on one line and without secrets. */
export function saidIn(body: string, mask: (text: string) => string): string {
  let parsed: unknown = null;
  try {
    parsed = JSON.parse(body);
  } catch {
    // A page of HTML says nothing that helps.
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
