import type { IncomingHttpHeaders } from 'node:http';
import { numberIn, type ReadQuota } from '../http/limits.js';

/** A reset in a year is a mistake of somebody's clock. */
const MAX_WAIT_MS = 24 * 3_600_000;

/**
 * What Jira tells of its limits. `X-RateLimit-Remaining` comes with every answer and counts within a second; it means something only beside
 * `X-RateLimit-Reset`, which is a time as ISO 8601 writes it. Tokens of apps have an hourly budget in `RateLimit: "name";r=left;t=seconds`.
 */
export const readJiraQuota: ReadQuota = (headers, nowMs) => {
  const told = [
    byCount(headers, nowMs),
    byBudget(headers.ratelimit, nowMs),
    byBudget(headers['beta-ratelimit'], nowMs),
  ];
  return told.reduce((scarcest, quota) => {
    if (quota === null || quota.resetAtMs <= nowMs) return scarcest;
    return scarcest === null || quota.remaining < scarcest.remaining ? quota : scarcest;
  }, null);
};

type Quota = ReturnType<ReadQuota>;

function byCount(headers: IncomingHttpHeaders, nowMs: number): Quota {
  const remaining = numberIn(headers, 'x-ratelimit-remaining');
  const reset = headers['x-ratelimit-reset'];
  const atMs = typeof reset === 'string' && reset.includes('T') ? Date.parse(reset) : Number.NaN;
  return remaining === null || Number.isNaN(atMs) ? null : { remaining, resetAtMs: clamped(atMs, nowMs) };
}

function byBudget(header: string | string[] | undefined, nowMs: number): Quota {
  const told = typeof header === 'string' ? header : '';
  const left = /;\s*r=(\d{1,15})(?=;|,|\s|$)/.exec(told)?.[1];
  const seconds = /;\s*t=(\d{1,9})(?=;|,|\s|$)/.exec(told)?.[1];
  if (left === undefined || seconds === undefined) return null;
  return { remaining: Number(left), resetAtMs: clamped(nowMs + Number(seconds) * 1000, nowMs) };
}

function clamped(atMs: number, nowMs: number): number {
  return Math.min(atMs, nowMs + MAX_WAIT_MS);
}
