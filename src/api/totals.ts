import { runOf, type State } from '../../orchestrator/state.js';
import type { Instant } from '../domain/clock.js';
import type { DayRecord } from '../domain/ports.js';
import type { TokenTotals } from '../domain/run-signal.js';
import type { StateView, Stats } from './schemas.js';

/** What all agents used since the daemon started, without current runs. */
export interface Totals {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly ranMs: number;
}

export const NO_TOTALS: Totals = { input: 0, cached: 0, output: 0, ranMs: 0 };

/** Totals after one decision. Cheap when no tokens were spent and no run ended, which is nearly always. */
export function totalsAfter(totals: Totals, before: State, after: State): Totals {
  const ended = before.ended === after.ended ? 0 : endedMs(before, after);
  const spent = before.ledger === after.ledger ? NO_TOTALS : spentBetween(before, after);
  return {
    input: totals.input + spent.input,
    cached: totals.cached + spent.cached,
    output: totals.output + spent.output,
    ranMs: totals.ranMs + ended,
  };
}

/** Totals including current runs. */
export function totalsView(totals: Totals, state: State, now: Instant): StateView['codex_totals'] {
  const alive = Object.values(state.claims).flatMap(({ status }) => (status.kind === 'running' ? [status.run] : []));
  const ranMs = alive.reduce((ms, run) => ms + Math.max(0, now.wallMs - run.startedAtMs), totals.ranMs);
  return {
    input_tokens: totals.input,
    cached_input_tokens: totals.cached,
    output_tokens: totals.output,
    total_tokens: totals.input + totals.output,
    seconds_running: Math.round(ranMs / 1000),
  };
}

function endedMs(before: State, after: State): number {
  let ms = 0;
  for (const [runId, { record }] of Object.entries(after.ended)) {
    if (runId in before.ended || !record.end) continue;
    ms += Math.max(0, record.end.atMs - record.startedAtMs);
  }
  return ms;
}

/** Only active runs spend tokens. */
function spentBetween(before: State, after: State): TokenTotals {
  const total = { input: 0, cached: 0, output: 0 };
  for (const [runId, issueId] of Object.entries(after.runs)) {
    const [was, is] = [tokensOf(before, issueId, runId), tokensOf(after, issueId, runId)];
    total.input += is.input - was.input;
    total.cached += is.cached - was.cached;
    total.output += is.output - was.output;
  }
  return total;
}

function tokensOf({ claims }: State, issueId: string, runId: string): TokenTotals {
  const claim = Object.hasOwn(claims, issueId) ? claims[issueId] : undefined;
  const run = claim ? runOf(claim) : null;
  return run?.runId === runId ? run.account.tokens : NO_TOTALS;
}

/** The answer to `GET /api/v1/stats`: every local day of `days`. */
export function statsOf(days: readonly string[], records: readonly DayRecord[]): Stats {
  const known = new Map(records.map((record) => [record.day, record]));
  return {
    days: days.map((day) => {
      const record = known.get(day);
      return {
        day,
        tokens: record?.tokens ?? 0,
        input_tokens: record?.input ?? 0,
        cached_input_tokens: record?.cached ?? 0,
        output_tokens: record?.output ?? 0,
        runs: record?.runs ?? 0,
        failed: record?.failed ?? 0,
        done: record?.done ?? 0,
      };
    }),
  };
}
