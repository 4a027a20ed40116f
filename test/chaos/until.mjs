import { setTimeout as pause } from 'node:timers/promises';

const LOOK_EVERY_MS = 20;
export const LIMIT_MS = 45_000;

/** Polls until `isTrue`, because writes of other processes to files send no event. */
export async function until(isTrue, what, limitMs = LIMIT_MS) {
  const endMs = Date.now() + limitMs;
  while (!isTrue()) {
    if (Date.now() > endMs) throw new Error(`not seen within ${limitMs / 1000} s: ${what}`);
    await pause(LOOK_EVERY_MS);
  }
}
