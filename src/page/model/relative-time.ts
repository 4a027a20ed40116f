/** Spans and moments in words. Pure: the moment that counts as now is an argument. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `3 min ago`, `in 12 s`, `just now`. Empty for what is no time. */
export function relativeTime(at: string | null, nowMs: number): string {
  const ms = parseTime(at);
  if (ms === null) return '';
  const away = ms - nowMs;
  if (Math.abs(away) < SECOND) return away < 0 ? 'just now' : 'now';
  const span = roughSpan(Math.abs(away));
  return away < 0 ? `${span} ago` : `in ${span}`;
}

/** How long from one moment to another, with the next smaller unit: `14 min 5 s`. */
export function elapsed(from: string | null, toMs: number): string {
  const ms = parseTime(from);
  return ms === null ? '' : exactSpan(Math.max(0, toMs - ms));
}

/** A span by itself: `6 min`. */
export function span(ms: number): string {
  return roughSpan(Math.max(SECOND, ms));
}

/** What is left until a moment; `null` when it is over or unknown. */
export function timeLeft(until: string | null, nowMs: number): string | null {
  const ms = parseTime(until);
  return ms === null || ms <= nowMs ? null : roughSpan(ms - nowMs);
}

/** The whole date, on the clock of whoever looks. */
export function fullTime(at: string | null): string {
  const ms = parseTime(at);
  return ms === null ? '' : new Date(ms).toLocaleString(undefined, { dateStyle: 'full', timeStyle: 'medium' });
}

/** `14:03:22`, with the date in front when it was on another day. */
export function clockTime(at: string | null, nowMs: number): string {
  const ms = parseTime(at);
  if (ms === null) return '';
  const date = new Date(ms);
  const time = date.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
  const isToday = date.toDateString() === new Date(nowMs).toDateString();
  return isToday ? time : `${date.toLocaleDateString(undefined, { day: 'numeric', month: 'short' })}, ${time}`;
}

export function parseTime(at: string | null): number | null {
  if (at === null) return null;
  const ms = Date.parse(at);
  return Number.isNaN(ms) ? null : ms;
}

/** One unit is enough to know whether to hurry. */
function roughSpan(ms: number): string {
  if (ms < MINUTE) return `${Math.max(1, Math.round(ms / SECOND))} s`;
  if (ms < HOUR) return `${Math.round(ms / MINUTE)} min`;
  if (ms < DAY) return `${Math.round(ms / HOUR)} h`;
  const days = Math.round(ms / DAY);
  return `${days} ${days === 1 ? 'day' : 'days'}`;
}

function exactSpan(ms: number): string {
  const [seconds, minutes, hours] = [Math.floor(ms / SECOND), Math.floor(ms / MINUTE), Math.floor(ms / HOUR)];
  if (minutes === 0) return `${seconds} s`;
  if (hours === 0) return `${minutes} min ${seconds % 60} s`;
  if (hours < 24) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}
