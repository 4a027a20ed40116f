import { fraction } from './hash.js';

export const FIRST_BACKOFF_MS = 10_000;
export const CONTINUATION_MS = 1_000;
const JITTER = 0.1;

/** `min(10 s · 2^(n−1), cap)` for the n-th consecutive failure, plus up to 10 % that depends only on `seed`. */
export function backoffMs(failures: number, capMs: number, seed: string): number {
  const plain = doubled(FIRST_BACKOFF_MS, failures - 1, capMs);
  return Math.round(plain * (1 + JITTER * fraction(seed)));
}

/** The upper bound of `backoffMs` over all seeds. */
export function longestBackoffMs(capMs: number): number {
  return Math.ceil(capMs * (1 + JITTER));
}

/** The delay after a normal exit: 1 s, doubled for every consecutive run that did not change the issue. */
export function continuationMs(idleRuns: number, capMs: number): number {
  return doubled(CONTINUATION_MS, idleRuns, Math.max(capMs, CONTINUATION_MS));
}

function doubled(firstMs: number, times: number, capMs: number): number {
  // 2^30 · 1 s exceeds every cap; a larger exponent would lose precision.
  return Math.min(firstMs * 2 ** Math.min(Math.max(times, 0), 30), capMs);
}
