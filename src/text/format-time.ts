const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `12 s`, `4 min`, `3 h 12 min`, `2 d 4 h`. */
export function formatDuration(ms: number): string {
  if (ms < MINUTE) return `${Math.max(0, Math.floor(ms / SECOND))} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  if (ms < DAY) return pair(ms, HOUR, 'h', MINUTE, 'min');
  return pair(ms, DAY, 'd', HOUR, 'h');
}

function pair(ms: number, large: number, one: string, small: number, other: string): string {
  const rest = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large)} ${one}${rest === 0 ? '' : ` ${rest} ${other}`}`;
}

/** How long ago that was; `null` where it is not known. `time` is ISO 8601. */
export function formatAge(time: string | null, nowMs: number): string | null {
  const ms = parseTime(time);
  return ms === null ? null : formatDuration(nowMs - ms);
}

/** How long until then; `null` where it is not known or has passed. */
export function formatTimeLeft(time: string | null, nowMs: number): string | null {
  const ms = parseTime(time);
  return ms === null || ms <= nowMs ? null : formatDuration(Math.ceil((ms - nowMs) / SECOND) * SECOND);
}

/** Local: `14:05`, of another day `18 Nov 14:05`. */
export function formatMoment(ms: number, nowMs: number): string {
  const [date, today] = [new Date(ms), new Date(nowMs)];
  const clock = `${two(date.getHours())}:${two(date.getMinutes())}`;
  if (date.toDateString() === today.toDateString()) return clock;
  const year = date.getFullYear() === today.getFullYear() ? '' : ` ${date.getFullYear()}`;
  return `${date.getDate()} ${MONTHS[date.getMonth()]}${year} ${clock}`;
}

/**
 * Sentences of the daemon name times in UTC; whoever sits at a terminal has a clock on the wall, and wants to know how long that is:
 * `14:05, in 8 s`.
 */
export function localiseTimes(text: string, nowMs: number): string {
  return text.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?Z/g, (time) => {
    const ms = parseTime(time);
    if (ms === null) return time;
    const left = formatTimeLeft(time, nowMs);
    return `${formatMoment(ms, nowMs)}, ${left === null ? `${formatAge(time, nowMs)} ago` : `in ${left}`}`;
  });
}

export function parseTime(time: string | null): number | null {
  const ms = time === null ? Number.NaN : Date.parse(time);
  return Number.isNaN(ms) ? null : ms;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

function two(value: number): string {
  return String(value).padStart(2, '0');
}

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

/** For people and scripts: UTC. `null` for what no calendar has, such as a reset time that a tracker sent in the wrong unit. */
export function isoTime(wallMs: number): string | null {
  const date = new Date(wallMs);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}
