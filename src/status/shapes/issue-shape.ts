import { z } from 'zod';
import {
  askingShape,
  budgetShape,
  count,
  doneShape,
  issueFields,
  parkedShape,
  retryingShape,
  runningShape,
  text,
  textOrNull,
  timeOrNull,
  tokensShape,
} from './entry-shapes.js';

/** A rule that an issue must pass before it is started. `action`: what a person can do about it; `null` where it passes. */
export const ruleShape = z.strictObject({ rule: text, pass: z.boolean(), why: textOrNull, action: textOrNull });

/** A run, as its record tells it. */
export const runShape = z.strictObject({
  run_id: text,
  run_number: count,
  reason: text,
  /** Who brought it about: `poll`, `retry`, `answer`, `operator`. */
  cause: text,
  author: textOrNull,
  attempt: count.nullable(),
  thread_id: textOrNull,
  model: textOrNull,
  agent_version: textOrNull,
  turns: count,
  tokens: tokensShape,
  started_at: timeOrNull,
  /** `null`: it has not ended yet. */
  ended_at: timeOrNull,
  outcome: z.enum(['success', 'failed', 'timeout', 'cancelled']).nullable(),
  code: textOrNull,
  message: textOrNull,
  /** There is something to read under `timeline` and `transcript`. */
  has_transcript: z.boolean(),
});

/** `GET /api/v1/<identifier>`. */
export const issueShape = z.strictObject({
  ...issueFields,
  generated_at: timeOrNull,
  status: z.enum(['running', 'asking', 'retrying', 'parked', 'ready', 'ineligible', 'done', 'past']),
  priority: count.nullable(),
  labels: z.array(text),
  author: z.strictObject({ login: text, trusted: z.boolean().nullable() }).nullable(),
  blocked_by: z.array(z.strictObject({ id: textOrNull, identifier: textOrNull, state: textOrNull })),
  created_at: textOrNull,
  updated_at: textOrNull,
  runs: count,
  budget: budgetShape,
  running: runningShape.nullable(),
  asking: askingShape.nullable(),
  retrying: retryingShape.nullable(),
  parked: parkedShape.nullable(),
  done: doneShape.nullable(),
  /** It is in the ready list. */
  ready: z.boolean(),
  why_not_started: textOrNull,
  rules: z.array(ruleShape),
  /** The newest first, at most 50. */
  history: z.array(runShape),
});

/** One line of what happened in a run. */
export const timelineEntryShape = z.strictObject({
  at: timeOrNull,
  kind: z.enum(['run', 'agent', 'hook', 'step', 'question', 'problem']),
  /** One line, harmless on every screen. */
  text,
  /** More of it, over several lines: output of a hook, a message in full, a prompt. */
  detail: textOrNull,
});

export const planStepShape = z.strictObject({ step: text, status: z.enum(['pending', 'inProgress', 'completed']) });

/** `GET /api/v1/<identifier>/timeline?run=<run id>`; without `run` the newest. */
export const timelineShape = z.strictObject({
  run_id: textOrNull,
  live: z.boolean(),
  /** The beginning was left out: it is in the transcript. */
  truncated: z.boolean(),
  entries: z.array(timelineEntryShape),
  /** As the agent told them last. */
  plan: z.array(planStepShape),
  diff: textOrNull,
});

/** `GET /api/v1/stats?days=30`: by local day, the oldest first, no day left out. */
export const statsShape = z.strictObject({
  days: z.array(
    z.strictObject({
      day: text,
      /** What counts against budgets. */
      tokens: count,
      input_tokens: count,
      cached_input_tokens: count,
      output_tokens: count,
      runs: count,
      failed: count,
      done: count,
    }),
  ),
});

export type RuleView = z.infer<typeof ruleShape>;
export type RunView = z.infer<typeof runShape>;
export type IssueView = z.infer<typeof issueShape>;
export type TimelineEntry = z.infer<typeof timelineEntryShape>;
export type PlanStep = z.infer<typeof planStepShape>;
export type Timeline = z.infer<typeof timelineShape>;
export type Stats = z.infer<typeof statsShape>;
