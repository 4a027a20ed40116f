const FIRST_MS = 1_000;
const MAX_MS = 30_000;

/**
 * How long to wait before try number `tries` (from 1). `askedMs`: what the server wants at least after the first. `random` (0 to 1) spreads
 * the pages that lost one daemon together.
 */
export function reconnectDelay(tries: number, askedMs: number | null, random: number): number {
  if (tries <= 1) return FIRST_MS / 2 + random * FIRST_MS;
  const base = Math.max(FIRST_MS, askedMs ?? 0) * 2 ** Math.min(10, tries - 2);
  return Math.min(MAX_MS, base) * (0.75 + random * 0.5);
}
