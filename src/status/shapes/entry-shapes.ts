import { z } from 'zod';

/**
 * The shapes of what the API answers: described once, for the daemon that answers, the commands and the page that ask, the tests and the
 * documents. Every member is always there; what is not known is `null` or empty. Times are UTC, ISO 8601.
 */
export const text = z.string();
export const textOrNull = text.nullable();
export const count = z.number();
/** `null` also for a moment that no calendar has. */
export const timeOrNull = text.nullable();

export const issueFields = {
  issue_id: text,
  issue_identifier: text,
  issue_url: textOrNull,
  title: text,
  state: text,
};

export const tokensShape = z.strictObject({
  input_tokens: count,
  cached_input_tokens: count,
  output_tokens: count,
  total_tokens: count,
});

/** What counts against a cap: input − cached + output. `limit: null`: there is none. */
export const budgetShape = z.strictObject({ spent: count, limit: count.nullable() });

export const questionShape = z.strictObject({
  id: text,
  kind: z.enum(['approval', 'input']),
  text,
  fields: z.array(z.strictObject({ id: text, label: text, options: z.array(text) })),
});

export const runningShape = z.strictObject({
  ...issueFields,
  run_id: text,
  run_number: count,
  reason: z.enum(['first', 'continuation', 'retry', 'resumed', 'answer']),
  attempt: count.nullable(),
  phase: z.enum(['claiming', 'preparing', 'agent', 'finishing']).nullable(),
  step: z.strictObject({ id: text, kind: text }).nullable(),
  asking: z.boolean(),
  /** Why it is being stopped. */
  stopping: textOrNull,
  probe: z.boolean(),
  session_id: textOrNull,
  turn_count: count,
  /** The type of the last event, or its method where it has one. */
  last_event: textOrNull,
  /** The last thing worth telling, as a sentence without its subject. */
  last_message: textOrNull,
  started_at: timeOrNull,
  last_event_at: timeOrNull,
  tokens: tokensShape,
  budget: budgetShape,
});

export const askingShape = z.strictObject({
  ...issueFields,
  run_id: text,
  asked_at: timeOrNull,
  answer_until: timeOrNull,
  on_timeout: z.enum(['park', 'decline']),
  questions: z.array(questionShape),
});

export const retryingShape = z.strictObject({
  ...issueFields,
  attempt: count.nullable(),
  reason: text,
  since: timeOrNull,
  due_at: timeOrNull,
  due: z.boolean(),
  error: textOrNull,
  error_code: textOrNull,
  failures: count,
  runs_without_progress: count,
});

export const parkedShape = z.strictObject({
  ...issueFields,
  reason: text,
  since: timeOrNull,
  message: text,
  /** It can still be answered: then the issue goes on. */
  question: questionShape.nullable(),
  keeps_slot: z.boolean(),
  failures: count,
});

export const readyShape = z.strictObject({
  ...issueFields,
  priority: count.nullable(),
  created_at: textOrNull,
  retry: z.boolean(),
  why: textOrNull,
});

export const ineligibleShape = z.strictObject({
  ...issueFields,
  reasons: z.array(z.strictObject({ rule: text, why: text })),
});

export const doneShape = z.strictObject({
  ...issueFields,
  finished_at: timeOrNull,
  /** `false`: it left the active states without being done, as for a review. */
  terminal: z.boolean(),
  runs: count,
  tokens: count,
});

export const holdShape = z.strictObject({
  source: text,
  code: text,
  message: text,
  action: text,
  since: timeOrNull,
  until: timeOrNull,
  tries: count,
});

export type QuestionView = z.infer<typeof questionShape>;
export type RunningView = z.infer<typeof runningShape>;
export type AskingView = z.infer<typeof askingShape>;
export type RetryingView = z.infer<typeof retryingShape>;
export type ParkedView = z.infer<typeof parkedShape>;
export type ReadyView = z.infer<typeof readyShape>;
export type IneligibleView = z.infer<typeof ineligibleShape>;
export type DoneView = z.infer<typeof doneShape>;
export type HoldView = z.infer<typeof holdShape>;
export type BudgetView = z.infer<typeof budgetShape>;
