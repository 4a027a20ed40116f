import type { RunView, StateView } from '../../api/schemas.js';

/** `941`, `12.4k`, `2.4M`: as short as a person can still compare. */
export function shortCount(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size < 1_000) return String(Math.round(value));
  if (size < 999_500) return `${digits(value / 1_000)}k`;
  if (size < 999_500_000) return `${digits(value / 1_000_000)}M`;
  return `${digits(value / 1_000_000_000)}G`;
}

/** `1,234,567`, in the way of whoever looks. */
export function fullCount(value: number): string {
  return Number.isFinite(value) ? value.toLocaleString() : '–';
}

/** `1 issue`, `2 issues`. */
export function counted(count: number, noun: string): string {
  return `${fullCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** Which part of a cap is spent, from 0 to 1; `null` without a cap. */
export function shareOf({ spent, limit }: { readonly spent: number; readonly limit: number | null }): number | null {
  if (limit === null || !(limit > 0)) return null;
  return Math.min(1, Math.max(0, spent / limit));
}

function digits(value: number): string {
  const shown = Math.abs(value) < 99.95 ? value.toFixed(1) : value.toFixed(0);
  return shown.replace(/\.0$/, '');
}

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

function parseTime(at: string | null): number | null {
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

/** `3 turns, 120k tokens`: as budgets count them, so what came from a cache is free. */
export function runCost({ turns, tokens }: Pick<RunView, 'turns' | 'tokens'>): string {
  const spent = tokens.input_tokens - tokens.cached_input_tokens + tokens.output_tokens;
  return `${counted(turns, 'turn')}, ${shortCount(spent)} tokens`;
}

/** A limit of the account at the model service, as codex tells it. */
interface AgentLimit {
  readonly name: string;
  /** From 0 to 1. */
  readonly used: number;
  readonly resetsAt: string | null;
}

/** What codex tells has no fixed shape: what is not understood is left out. */
export function agentLimits(told: StateView['rate_limits']): AgentLimit[] {
  const outer = fieldsOf(told);
  const limits = 'rateLimits' in outer ? fieldsOf(outer.rateLimits) : outer;
  return ['primary', 'secondary'].flatMap((name) => {
    const limit = fieldsOf(limits[name]);
    const percent = limit.usedPercent;
    if (typeof percent !== 'number' || !(percent >= 0)) return [];
    return [
      {
        name: windowName(limit.windowDurationMins, name),
        used: Math.min(1, percent / 100),
        resetsAt: reset(limit.resetsAt),
      },
    ];
  });
}

function windowName(minutes: unknown, fallback: string): string {
  if (typeof minutes !== 'number' || !(minutes > 0)) return fallback;
  if (minutes < 60) return `${Math.round(minutes)} min`;
  if (minutes < 2 * 24 * 60) return `${Math.round(minutes / 60)} h`;
  return `${Math.round(minutes / 60 / 24)} days`;
}

/** Seconds since 1970. */
function reset(seconds: unknown): string | null {
  if (typeof seconds !== 'number') return null;
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

function fieldsOf(value: unknown): { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}
