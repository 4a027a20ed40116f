import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import type { z } from 'zod';
import type { HistoryEvent } from '../domain/note.js';
import type { DayRecord, StoredPast } from '../domain/ports.js';
import { toKey } from './json-table.js';
import { finishedShape, runRecordShape } from './stored-shapes.js';

type Guard = <T>(act: () => T) => T;

/** Queries of the history. Rows that cannot be read are left out; `load` and `state export` report them. */
export function storedPast(db: DatabaseSyncInstance, guarded: Guard): StoredPast {
  // Not kept: a prepared statement holds the connection open beyond its close.
  const rows = <T>(sql: string, ...values: (string | number)[]): T[] =>
    guarded(() => db.prepare(sql).all(...values) as unknown as T[]);
  return {
    async runs({ issue, sinceMs = Number.MIN_SAFE_INTEGER, limit }) {
      // SQLite would stop reading at a NUL and find another issue.
      if (issue?.includes('\0')) return [];
      const order = 'ORDER BY started_at_ms DESC, run_id DESC LIMIT ?';
      const found =
        issue === undefined
          ? rows<JsonRow>(`SELECT json FROM runs WHERE started_at_ms >= ? ${order}`, sinceMs, limit)
          : rows<JsonRow>(
              `SELECT json FROM runs WHERE (issue_id = ? OR identifier = ?) AND started_at_ms >= ? ${order}`,
              ...[issue, issue, sinceMs, limit],
            );
      return found.flatMap(({ json }) => read(json, runRecordShape));
    },
    async finished({ sinceMs, limit }) {
      const sql = 'SELECT json FROM finished WHERE at_ms >= ? ORDER BY at_ms DESC LIMIT ?';
      return rows<JsonRow>(sql, sinceMs, limit).flatMap(({ json }) => read(json, finishedShape));
    },
    async days(sinceDay) {
      const day = (column: string) => `date(${column} / 1000, 'unixepoch', 'localtime')`;
      const found = [
        ...rows<Partial<DayRecord>>(
          'SELECT day, sum(input) AS input, sum(cached) AS cached, sum(output) AS output, sum(tokens) AS tokens ' +
            'FROM spending WHERE day >= ? GROUP BY day',
          sinceDay,
        ),
        ...rows<Partial<DayRecord>>(
          `SELECT ${day('ended_at_ms')} AS day, count(*) AS runs, sum(outcome IN ('failed', 'timeout')) AS failed ` +
            'FROM runs WHERE ended_at_ms >= ? GROUP BY 1',
          startOf(sinceDay),
        ),
        ...rows<Partial<DayRecord>>(
          `SELECT ${day('at_ms')} AS day, count(*) AS done FROM finished ` +
            "WHERE at_ms >= ? AND json_extract(json, '$.isTerminal') GROUP BY 1",
          startOf(sinceDay),
        ),
      ];
      return mergeDays(found);
    },
    async events({ issue, limit }) {
      const where = issue === undefined ? '' : 'WHERE identifier = ? OR issue_id = ?';
      const values = issue === undefined ? [] : [issue, toKey(issue)];
      return rows<EventRow>(`SELECT * FROM events ${where} ORDER BY id DESC LIMIT ?`, ...values, limit).map(eventOf);
    },
  };
}

interface JsonRow {
  readonly json: string;
}

interface EventRow {
  readonly at_ms: number;
  readonly level: HistoryEvent['level'];
  readonly message: string;
  readonly issue_id: string | null;
  readonly identifier: string | null;
  readonly run_id: string | null;
  readonly fields: string;
}

/** The start of a local day. */
function startOf(day: string): number {
  const [year = 1970, month = 1, date = 1] = day.split('-').map(Number);
  return new Date(year, month - 1, date).getTime();
}

function read<T>(json: string, shape: z.ZodType<T>): T[] {
  const parsed = shape.safeParse(jsonOf(json));
  return parsed.success ? [parsed.data] : [];
}

function eventOf({ at_ms, level, message, issue_id, identifier, run_id, fields }: EventRow): HistoryEvent {
  const known = jsonOf(fields);
  const isMap = typeof known === 'object' && known !== null;
  return {
    ...{ atMs: at_ms, level, message, issueId: issue_id, identifier, runId: run_id },
    fields: isMap ? (known as HistoryEvent['fields']) : {},
  };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const NOTHING = { input: 0, cached: 0, output: 0, tokens: 0, runs: 0, failed: 0, done: 0 };

/** Merges partial records of days, the newest first. */
export function mergeDays(partials: readonly Partial<DayRecord>[]): DayRecord[] {
  const days = new Map<string, DayRecord>();
  for (const { day, ...partial } of partials) {
    if (day === undefined) continue;
    days.set(day, { ...(days.get(day) ?? { day, ...NOTHING }), ...partial });
  }
  return [...days.values()].sort((a, b) => (a.day < b.day ? 1 : -1));
}
