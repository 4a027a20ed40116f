import type { DayRecord } from '../domain/ports.js';

const NOTHING = { input: 0, cached: 0, output: 0, tokens: 0, runs: 0, failed: 0, done: 0 };

/** Parts of days, put together; the newest first. */
export function mergeDays(parts: readonly Partial<DayRecord>[]): DayRecord[] {
  const days = new Map<string, DayRecord>();
  for (const { day, ...part } of parts) {
    if (day === undefined) continue;
    days.set(day, { ...(days.get(day) ?? { day, ...NOTHING }), ...part });
  }
  return [...days.values()].sort((a, b) => (a.day < b.day ? 1 : -1));
}
