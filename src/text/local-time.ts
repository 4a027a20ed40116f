/** Local times, for people: in the zone of this process. */
export function localDay(wallMs: number): string {
  const date = new Date(wallMs);
  return `${String(date.getFullYear()).padStart(4, '0')}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** `2026-11-16 09:05`. */
export function localTime(wallMs: number): string {
  const date = new Date(wallMs);
  return `${localDay(wallMs)} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** When the local day began that was so many days before. The calendar knows days of 23 and 25 hours; arithmetic does not. */
export function startOfDay(wallMs: number, daysBefore: number): number {
  const date = new Date(wallMs);
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() - daysBefore).getTime();
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}
