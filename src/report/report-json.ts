import type { Report, ReportedIssue, Sums } from './report.js';
import { noteSentence } from './report-sentences.js';
import type { ReportJson } from './report-shape.js';

/** For programs: everything, exact, in one shape whatever the report is by. */
export function reportJson(report: Report, stateDir: string): ReportJson {
  const { period, by, currency, totals, groups, unpriced, notes } = report;
  return {
    state_dir: stateDir,
    since: isoTime(period.sinceMs),
    until: isoTime(period.untilMs),
    by,
    currency,
    totals: sumsJson(totals),
    groups: groups.map(({ name, issue, ...sums }) => ({
      name,
      issue: issue === null ? null : issueJson(issue),
      ...sumsJson(sums),
    })),
    unpriced_models: unpriced.map(({ model, tokens }) => ({ model, tokens })),
    notes: notes.map((note) => noteSentence(note, JSON.stringify)),
  };
}

function sumsJson({ issues, runs, failures, tokens, cost, timeMs }: Sums): ReportJson['totals'] {
  return {
    issues: { worked_on: issues.workedOn, done: issues.done, handed_over: issues.handedOver },
    runs: { ...runs },
    failures: failures.map((failure) => ({ ...failure })),
    tokens: { ...tokens },
    cost: cost === null ? null : { amount: cost.amount, is_partial: cost.isPartial },
    time_ms: timeMs,
  };
}

function issueJson({ id, title, state, isDone, runs }: ReportedIssue): ReportJson['groups'][number]['issue'] {
  return {
    id,
    title,
    state,
    is_done: isDone,
    runs: runs.map(({ id: runId, number, startedAtMs, endedAtMs, outcome, code, model, tokens }) => ({
      id: runId,
      number,
      started_at: isoTime(startedAtMs),
      ended_at: endedAtMs === null || Number.isNaN(new Date(endedAtMs).getTime()) ? null : isoTime(endedAtMs),
      outcome,
      code,
      model,
      tokens: { ...tokens },
    })),
  };
}

function isoTime(wallMs: number): string {
  return new Date(wallMs).toISOString();
}
