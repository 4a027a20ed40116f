import type { RunView, StateView } from '../../api/schemas.js';
import { timeOf } from '../../domain/json.js';
import { counted, formatTokens } from '../../text/format-numbers.js';
import { formatDuration, formatElapsed } from '../../text/format-time.js';

/** `1,234,567`, in the locale of the browser. */
export function fullCount(value: number): string {
  return Number.isFinite(value) ? value.toLocaleString() : '–';
}

/** The spent share of a limit, from 0 to 1; `null` without a limit. */
export function shareOf({ spent, limit }: { readonly spent: number; readonly limit: number | null }): number | null {
  if (limit === null || !(limit > 0)) return null;
  return Math.min(1, Math.max(0, spent / limit));
}

/** `3 min ago`, `in 12 s`, `just now`. Empty for an invalid time. */
export function relativeTime(at: string | null, nowMs: number): string {
  const ms = timeOf(at);
  if (ms === null) return '';
  const away = ms - nowMs;
  if (Math.abs(away) < 1_000) return away < 0 ? 'just now' : 'now';
  return away < 0 ? `${formatDuration(-away)} ago` : `in ${formatDuration(away)}`;
}

/** The duration until `toMs`: `14 min 5 s`. */
export function elapsed(from: string | null, toMs: number): string {
  const ms = timeOf(from);
  return ms === null ? '' : formatElapsed(toMs - ms);
}

/** Date and time in the locale and time zone of the browser. */
export function fullTime(at: string | null): string {
  const ms = timeOf(at);
  return ms === null ? '' : new Date(ms).toLocaleString(undefined, { dateStyle: 'full', timeStyle: 'medium' });
}

/** `14:03:22`, with the date when it is another day. */
export function clockTime(at: string | null, nowMs: number): string {
  const ms = timeOf(at);
  if (ms === null) return '';
  const date = new Date(ms);
  const time = date.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
  const isToday = date.toDateString() === new Date(nowMs).toDateString();
  return isToday ? time : `${date.toLocaleDateString(undefined, { day: 'numeric', month: 'short' })}, ${time}`;
}

/** `3 turns, 120k tokens`, counted as for budgets: without cached input. */
export function runCost({ turns, tokens }: Pick<RunView, 'turns' | 'tokens'>): string {
  const spent = tokens.input_tokens - tokens.cached_input_tokens + tokens.output_tokens;
  return `${counted(turns, 'turn')}, ${formatTokens(spent)} tokens`;
}

/** A limit of the account at the model service, as codex reports it. */
interface AgentLimit {
  readonly name: string;
  /** From 0 to 1. */
  readonly used: number;
  readonly resetsAt: string | null;
}

/** The data of codex has no fixed shape; unknown entries are skipped. */
export function agentLimits(reported: StateView['rate_limits']): AgentLimit[] {
  const outer = fieldsOf(reported);
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
