import { timeOf } from '../domain/json.js';

/** Durations, dates and clock times for people. Pure: the current time is an argument. Local times are in the zone of this process. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `12 s`, `4 min`, `3 h 12 min`, `2 d 4 h`: for ages and waiting times. */
export function formatDuration(ms: number): string {
  return ms < HOUR ? oneUnit(ms) : twoUnits(ms);
}

/** `12 s`, `4 min 10 s`, `3 h 12 min`, `2 d 4 h`: for something in progress, where every second counts. */
export function formatElapsed(ms: number): string {
  return ms < MINUTE ? oneUnit(ms) : twoUnits(ms);
}

/** `12 ms`, `2.3 s`, `4 min 10 s`: for something that has ended. */
export function formatRuntime(ms: number): string {
  if (ms < 100) return `${Math.round(ms)} ms`;
  return ms < MINUTE ? `${(ms / SECOND).toFixed(1)} s` : twoUnits(ms);
}

function oneUnit(ms: number): string {
  return ms < MINUTE ? `${Math.max(0, Math.floor(ms / SECOND))} s` : `${Math.floor(ms / MINUTE)} min`;
}

function twoUnits(ms: number): string {
  if (ms < HOUR) return pair(ms, MINUTE, 'min', SECOND, 's');
  return ms < DAY ? pair(ms, HOUR, 'h', MINUTE, 'min') : pair(ms, DAY, 'd', HOUR, 'h');
}

function pair(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const remainder = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large)} ${largeName}${remainder === 0 ? '' : ` ${remainder} ${smallName}`}`;
}

/** The time since `time` (ISO 8601); null when it is unknown. */
export function formatAge(time: string | null, nowMs: number): string | null {
  const ms = timeOf(time);
  return ms === null ? null : formatDuration(nowMs - ms);
}

/** The time until `time` (ISO 8601), rounded up to a second; null when it is unknown or has passed. */
export function formatTimeLeft(time: string | null, nowMs: number): string | null {
  const ms = timeOf(time);
  return ms === null || ms <= nowMs ? null : formatDuration(Math.ceil((ms - nowMs) / SECOND) * SECOND);
}

/** Local: `14:05`, on another day `18 Nov 14:05`. */
export function formatMoment(ms: number, nowMs: number): string {
  const [date, today] = [new Date(ms), new Date(nowMs)];
  const time = hoursAndMinutes(date);
  if (date.toDateString() === today.toDateString()) return time;
  const year = date.getFullYear() === today.getFullYear() ? '' : ` ${date.getFullYear()}`;
  return `${date.getDate()} ${MONTHS[date.getMonth()]}${year} ${time}`;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Replaces the UTC times in a sentence of the daemon by local ones with their distance: `14:05, in 8 s`. */
export function localiseTimes(text: string, nowMs: number): string {
  return text.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?Z/g, (time) => {
    const ms = timeOf(time);
    if (ms === null) return time;
    const left = formatTimeLeft(time, nowMs);
    return `${formatMoment(ms, nowMs)}, ${left === null ? `${formatAge(time, nowMs)} ago` : `in ${left}`}`;
  });
}

/** Local: `14:05:09`. */
export function formatClock(ms: number): string {
  const date = new Date(ms);
  return `${hoursAndMinutes(date)}:${twoDigits(date.getSeconds())}`;
}

/** Local: `2026-11-16`. */
export function localDay(wallMs: number): string {
  const date = new Date(wallMs);
  const year = String(date.getFullYear()).padStart(4, '0');
  return `${year}-${twoDigits(date.getMonth() + 1)}-${twoDigits(date.getDate())}`;
}

/** Local: `2026-11-16 09:05`. */
export function localTime(wallMs: number): string {
  return `${localDay(wallMs)} ${hoursAndMinutes(new Date(wallMs))}`;
}

/** The start of the local day that many days ago. Uses the calendar because days may have 23 or 25 hours. */
export function startOfDay(wallMs: number, daysBefore: number): number {
  const date = new Date(wallMs);
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() - daysBefore).getTime();
}

/** UTC, in ISO 8601. Returns null for a number that is no date, such as a reset time that a tracker sent in the wrong unit. */
export function isoTime(wallMs: number): string | null {
  const date = new Date(wallMs);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

function hoursAndMinutes(date: Date): string {
  return `${twoDigits(date.getHours())}:${twoDigits(date.getMinutes())}`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}
