import { z } from 'zod';
import { REPORT_BY } from './report.js';

/** The JSON of `baton report`, as docs/report.md tells it: nothing is ever missing, and nothing else is in it. */
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

export type ReportJson = z.output<typeof reportShape>;
