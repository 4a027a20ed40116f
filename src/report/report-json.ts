import { z } from 'zod';
import { REPORT_BY, type Report, type ReportedIssue, type Sums } from './report.js';
import { noteSentence } from './report-sentences.js';

/** A report for programs: complete and exact, in one shape for all groupings. */
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
    runs: runs.map(({ id: runId, number, startedAtMs, endedAtMs, outcome, code, model, tokens, afterRunFailed }) => ({
      id: runId,
      number,
      started_at: isoTime(startedAtMs),
      ended_at: endedAtMs === null || Number.isNaN(new Date(endedAtMs).getTime()) ? null : isoTime(endedAtMs),
      outcome,
      code,
      model,
      tokens: { ...tokens },
      after_run_failed: afterRunFailed,
    })),
  };
}

function isoTime(wallMs: number): string {
  return new Date(wallMs).toISOString();
}

/** The JSON of `baton report`, as in docs/report.md. Every field is required and no other is allowed. */
const count = z.int().min(0);
const time = z.iso.datetime();
const outcome = z.enum(['success', 'failed', 'timeout', 'cancelled', 'running']);
const tokens = z.strictObject({ input: count, cached: count, output: count, billable: count });

const sums = {
  issues: z.strictObject({ worked_on: count, done: count, handed_over: count }),
  runs: z.strictObject({
    all: count,
    success: count,
    failed: count,
    timeout: count,
    cancelled: count,
    running: count,
    retries: count,
  }),
  failures: z.array(z.strictObject({ code: z.string(), runs: count })),
  tokens,
  cost: z.strictObject({ amount: z.number().min(0), is_partial: z.boolean() }).nullable(),
  time_ms: z.number().min(0),
};

const run = z.strictObject({
  id: z.string(),
  number: count,
  started_at: time,
  ended_at: time.nullable(),
  outcome,
  code: z.string().nullable(),
  model: z.string().nullable(),
  tokens,
  after_run_failed: z.boolean(),
});

const issue = z.strictObject({
  id: z.string(),
  title: z.string(),
  state: z.string().nullable(),
  is_done: z.boolean(),
  runs: z.array(run),
});

export const reportShape = z.strictObject({
  state_dir: z.string(),
  since: time,
  until: time,
  by: z.enum(REPORT_BY),
  currency: z.string().nullable(),
  totals: z.strictObject(sums),
  groups: z.array(z.strictObject({ name: z.string().nullable(), issue: issue.nullable(), ...sums })),
  unpriced_models: z.array(z.strictObject({ model: z.string().nullable(), tokens: count })),
  notes: z.array(z.string()),
});

type ReportJson = z.output<typeof reportShape>;
