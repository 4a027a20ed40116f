import type { DayRecord } from '../domain/ports.js';
import type { Stats } from './shapes/issue-shape.js';

/** The answer to `GET /api/v1/stats`: the local days that are asked for, none left out. */
export function statsOf(days: readonly string[], records: readonly DayRecord[]): Stats {
  const known = new Map(records.map((record) => [record.day, record]));
  return {
    days: days.map((day) => {
      const record = known.get(day);
      return {
        day,
        tokens: record?.tokens ?? 0,
        input_tokens: record?.input ?? 0,
        cached_input_tokens: record?.cached ?? 0,
        output_tokens: record?.output ?? 0,
        runs: record?.runs ?? 0,
        failed: record?.failed ?? 0,
        done: record?.done ?? 0,
      };
    }),
  };
}
