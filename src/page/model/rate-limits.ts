import type { StateView } from '../../api/schemas.js';

/** A limit of the account at the model service, as codex tells it. */
export interface AgentLimit {
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
