import type { DatabaseSyncInstance } from '@photostructure/sqlite';

const DAY_MS = 86_400_000;

/**
 * Forgets what is older than `days`, counted back from now or from the fiftieth newest run, whichever is earlier: a clock that stands
 * years ahead for an hour, with a run or two, must not take everything along.
 */
export function pruneRecords(
  db: DatabaseSyncInstance,
  { days, nowMs }: { readonly days: number; readonly nowMs: number },
): void {
  const recent = db
    .prepare('SELECT started_at_ms AS atMs FROM runs ORDER BY started_at_ms DESC LIMIT 1 OFFSET 49')
    .get() as { atMs: number } | undefined;
  if (!recent) return;
  const beforeMs = Math.min(nowMs, recent.atMs) - days * DAY_MS;
  db.prepare('DELETE FROM runs WHERE started_at_ms < ?').run(beforeMs);
  db.prepare('DELETE FROM finished WHERE at_ms < ?').run(beforeMs);
  db.prepare('DELETE FROM spending WHERE day < ?').run(new Date(beforeMs).toISOString().slice(0, 10));
}
