const SORTABLE = /^(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2})(:\d{2}(?:\.\d{1,9})?)?\s*(Z|[+-]\d{2}:?\d{2})?)?$/i;
/** Older versions of Backlog.md wrote day, month and year, two digits each. */
const DAY_FIRST = /^(\d{2})([-/.])(\d{2})\2(\d{2})$/;

/** ISO time in UTC, which is what Backlog.md means when it names no zone; null for what is no date. */
export function parseBacklogDate(written: string | null): string | null {
  const text = written?.trim() ?? '';
  const old = DAY_FIRST.exec(text);
  const parts = SORTABLE.exec(old ? `20${old[4]}-${old[3]}-${old[1]}` : text);
  if (!parts) return null;
  const [, day, time = '00:00', seconds = ':00', zone = 'Z'] = parts;
  const ms = Date.parse(`${day}T${time}${seconds}${zone.toUpperCase()}`);
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}

/** As Backlog.md writes `updated_date` and the dates of comments. */
export function formatBacklogDate(wallMs: number): string {
  return new Date(wallMs).toISOString().slice(0, 16).replace('T', ' ');
}
