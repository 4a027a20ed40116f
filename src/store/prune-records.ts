import type { DatabaseSyncInstance } from '@photostructure/sqlite';

const DAY_MS = 86_400_000;

/**
 * Forgets what is older than `days`, counted back from now or from the newest run, whichever is earlier: a clock that stands years
 * ahead for an hour must not take everything along.
 */
export function pruneRecords(
  db: DatabaseSyncInstance,
  { days, nowMs }: { readonly days: number; readonly nowMs: number },
): void {
  const { newest } = db.prepare('SELECT max(started_at_ms) AS newest FROM runs').get() as { newest: number | null };
  if (newest === null) return;
  const beforeMs = Math.min(nowMs, newest) - days * DAY_MS;
  db.prepare('DELETE FROM runs WHERE started_at_ms < ?').run(beforeMs);
  db.prepare('DELETE FROM spending WHERE day < ?').run(new Date(beforeMs).toISOString().slice(0, 10));
}
