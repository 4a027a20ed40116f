import { z } from 'zod';

/**
 * The shapes of the API, for the daemon, the commands, the page, the tests and the documentation. Every member is always present; an unknown
 * value is `null` or empty. Times are UTC, ISO 8601.
 */
const text = z.string();
const textOrNull = text.nullable();
const count = z.number();
/** Also `null` for a time out of the range of the calendar. */
const timeOrNull = text.nullable();
/** The facts of the text beside it, for programs. A daemon of an older version does not send them. */
const params = z.looseObject({}).default({});
const reasonOrNull = z.strictObject({ code: text, params }).nullable().default(null);

const issueFields = {
  issue_id: text,
  issue_identifier: text,
  issue_url: textOrNull,
  title: text,
  state: text,
};

const tokensShape = z.strictObject({
  input_tokens: count,
  cached_input_tokens: count,
  output_tokens: count,
  total_tokens: count,
});

/** Tokens that count against a limit: input − cached + output. `limit: null`: no limit. */
const budgetShape = z.strictObject({ spent: count, limit: count.nullable() });

const questionShape = z.strictObject({
  id: text,
  kind: z.enum(['approval', 'input']),
  text,
  fields: z.array(z.strictObject({ id: text, label: text, options: z.array(text) })),
  /** Something was left out: the question can only be declined. Absent: it is whole. */
  is_cut: z.exactOptional(z.literal(true)),
});

const runningShape = z.strictObject({
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
  /** The last event worth reading, as a sentence without its subject. */
  last_message: textOrNull,
  /** The type or method of the event that `last_message` describes. */
  last_message_event: textOrNull.default(null),
  started_at: timeOrNull,
  last_event_at: timeOrNull,
  tokens: tokensShape,
  budget: budgetShape,
});

const askingShape = z.strictObject({
  ...issueFields,
  run_id: text,
  asked_at: timeOrNull,
  answer_until: timeOrNull,
  on_timeout: z.enum(['park', 'decline']),
  questions: z.array(questionShape),
});

const retryingShape = z.strictObject({
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

const parkedShape = z.strictObject({
  ...issueFields,
  reason: text,
  since: timeOrNull,
  message: text,
  /** An answer makes the issue go on. */
  question: questionShape.nullable(),
  keeps_slot: z.boolean(),
  failures: count,
});

const readyShape = z.strictObject({
  ...issueFields,
  priority: count.nullable(),
  created_at: textOrNull,
  retry: z.boolean(),
  why: textOrNull,
  why_reason: reasonOrNull,
});

const ineligibleShape = z.strictObject({
  ...issueFields,
  reasons: z.array(z.strictObject({ rule: text, why: text, params })),
});

const doneShape = z.strictObject({
  ...issueFields,
  finished_at: timeOrNull,
  /** `false`: it left the active states without being done, for example for a review. */
  terminal: z.boolean(),
  runs: count,
  tokens: count,
  /** Its last `after_run` failed. */
  after_run_failed: z.literal(true).optional(),
});

const holdShape = z.strictObject({
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

/** A rule that an issue must pass before it starts. `why` and `action` (what a person can do) are `null` when it passes. */
const ruleShape = z.strictObject({ rule: text, pass: z.boolean(), why: textOrNull, action: textOrNull, params });

/** A run, from its record. */
const runShape = z.strictObject({
  run_id: text,
  run_number: count,
  reason: text,
  /** `poll`, `retry`, `answer` or `operator`. */
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
  after_run_failed: z.literal(true).optional(),
  /** `timeline` and `transcript` exist. */
  has_transcript: z.boolean(),
});

const recentEventShape = z.strictObject({ at: textOrNull, event: text, message: text });

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
  why_not_started_reason: reasonOrNull,
  rules: z.array(ruleShape),
  /** The newest first, at most 50. */
  history: z.array(runShape),
  // As the specification of OpenAI's Symphony suggests them.
  workspace: z.strictObject({ path: text }).nullable(),
  attempts: z.strictObject({ restart_count: count, current_retry_attempt: count }),
  /** The same as `retrying`. */
  retry: retryingShape.nullable(),
  logs: z.strictObject({ codex_session_logs: z.array(z.strictObject({ label: text, path: text, url: text })) }),
  recent_events: z.array(recentEventShape),
  last_error: textOrNull,
  tracked: z.strictObject({}),
});

/** One event of a run. */
export const timelineEntryShape = z.strictObject({
  at: timeOrNull,
  kind: z.enum(['run', 'agent', 'hook', 'step', 'question', 'problem']),
  /** One line without control characters. */
  text,
  /** Several lines: the output of a hook, a whole message, a prompt. */
  detail: textOrNull,
  /** The number of characters that were cut from `detail`. */
  detail_omitted: count.optional(),
});

const planStepShape = z.strictObject({ step: text, status: z.enum(['pending', 'inProgress', 'completed']) });

/** `GET /api/v1/<identifier>/timeline?run=<run id>`; without `run` the newest. */
export const timelineShape = z.strictObject({
  run_id: textOrNull,
  live: z.boolean(),
  /** The first entries are left out; the transcript has them. */
  truncated: z.boolean(),
  entries: z.array(timelineEntryShape),
  /** As the agent last reported it. */
  plan: z.array(planStepShape),
  diff: textOrNull,
});

/** The event `timeline` of the stream. */
export const timelineEventShape = timelineShape.extend({
  reset: z.boolean(),
  plan: timelineShape.shape.plan.nullable(),
});

/** `GET /api/v1/stats?days=30`: every local day, the oldest first. */
export const statsShape = z.strictObject({
  days: z.array(
    z.strictObject({
      day: text,
      /** Tokens that count against budgets. */
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
export type RecentEvent = z.infer<typeof recentEventShape>;
export type IssueView = z.infer<typeof issueShape>;
export type TimelineEntry = z.infer<typeof timelineEntryShape>;
export type PlanStep = z.infer<typeof planStepShape>;
export type Timeline = z.infer<typeof timelineShape>;
export type Stats = z.infer<typeof statsShape>;

/** The lists of the state. Every entry of one list is about another issue. */
export const LISTS = ['running', 'asking', 'retrying', 'parked', 'ready', 'ineligible', 'done'] as const;
export type ListName = (typeof LISTS)[number];

/** `GET /api/v1/state`, and the event `state` of the stream. */
export const stateShape = z.strictObject({
  generated_at: timeOrNull,
  daemon: z.strictObject({
    version: text,
    pid: count,
    started_at: timeOrNull,
    state_dir: text,
    /** How the processes of runs are contained. `null`: a daemon of an older version does not send it. */
    isolation: z.enum(['pidns', 'none']).nullable().default(null),
  }),
  counts: z.strictObject({
    running: count,
    asking: count,
    retrying: count,
    parked: count,
    ready: count,
    ineligible: count,
    done: count,
  }),
  slots: z.strictObject({ taken: count, limit: count }),
  why_idle: textOrNull,
  why_idle_reason: reasonOrNull,
  running: z.array(runningShape),
  asking: z.array(askingShape),
  retrying: z.array(retryingShape),
  parked: z.array(parkedShape),
  ready: z.array(readyShape),
  ineligible: z.array(ineligibleShape),
  /** Since the beginning of yesterday, the newest first. */
  done: z.array(doneShape),
  hold: holdShape.nullable(),
  holds: z.array(holdShape),
  paused: z.strictObject({ since: timeOrNull }).nullable(),
  shutting_down: z.boolean(),
  tokens_today: budgetShape,
  /** Of all agents since the daemon started. */
  codex_totals: tokensShape.extend({ seconds_running: count }),
  /** As an agent last reported them; `null`: not yet. */
  rate_limits: z.json(),
  poll: z.strictObject({
    last: timeOrNull,
    next: timeOrNull,
    in_flight: z.boolean(),
    health: z.enum(['ok', 'failed', 'never']),
    error: textOrNull,
    error_code: textOrNull,
    failing_since: timeOrNull,
    problems: z.array(text),
    /** The longer time between polls while the quota of the tracker is low. */
    slowed_to_ms: count.nullable(),
    rate_limit: z.strictObject({ remaining: count, reset_at: timeOrNull }).nullable(),
  }),
  workflow: z.strictObject({
    path: text,
    hash: text,
    loaded_at: timeOrNull,
    /** Why the file as it is now is not in effect. */
    error: z
      .strictObject({
        code: text,
        message: text,
        /** One for each line of the message that names a place; `unknown_key` is a warning. */
        problems: z.array(z.strictObject({ code: text, params, text })).default([]),
      })
      .nullable(),
    /** The content of the file that waits until a person allows it with `baton allow`. */
    held: z
      .strictObject({
        hash: text,
        since: timeOrNull,
        /** One line for each changed setting that decides what runs or what is allowed. */
        changes: z.array(text),
        /** A unified diff of the file. */
        diff: text,
        is_cut: z.boolean(),
      })
      .nullable(),
    /** Keys that were changed and keep their old values until no run is active. */
    restart_required: z.array(text),
    /** Why they cannot take effect; null while they only wait. */
    restart_error: z.strictObject({ code: text, message: text }).nullable().default(null),
    backend: z.strictObject({ value: text, source: text }),
    steps: count,
  }),
});

export type StateView = z.infer<typeof stateShape>;

/** Not `z.record`: it drops `__proto__`, and an agent may use that as a field name. */
const texts = z.custom<{ readonly [field: string]: string }>(
  (value) =>
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every((text) => typeof text === 'string'),
  'must be a map of texts',
);

/** `POST /api/v1/<identifier>/answer`. `question_id` may be left out while only one question is open. */
export const answerRequestShape = z.union(
  [
    z.strictObject({ question_id: z.string().optional(), decision: z.enum(['accept', 'decline']) }),
    z.strictObject({ question_id: z.string().optional(), values: texts }),
  ],
  { error: 'must be {"decision": "accept"}, {"decision": "decline"} or {"values": {"<field id>": "<answer>"}}' },
);

/** `POST /api/v1/<identifier>/message`. */
export const messageRequestShape = z.strictObject({ text: z.string().trim().min(1).max(20_000) });

/** `POST /api/v1/allow`: the hash of the content that was shown. */
export const allowRequestShape = z.strictObject({ hash: z.string().max(100) });

/** The answer to every accepted request. */
export const acceptedShape = z.strictObject({
  accepted: z.literal(true),
  /** What happens next, for a person. */
  message: z.string(),
});

/** `POST /api/v1/refresh`: 202. */
export const refreshShape = z.strictObject({
  queued: z.literal(true),
  /** A poll is already under way or due, and serves this request too. */
  coalesced: z.boolean(),
  requested_at: z.string().nullable(),
  operations: z.array(z.string()),
});

/** `GET /api/v1/page`, over the socket only. `url: null`: the daemon has no port, or another program has it, and so no page. */
export const pageShape = z.strictObject({ url: z.string().nullable(), token: z.string() });

/** `POST /api/v1/page/file`, over the socket only: a file that leads a browser to the page, for a minute. */
export const pageFileShape = z.strictObject({ file: z.string().nullable() });

export const errorShape = z.strictObject({
  error: z.strictObject({ code: z.string(), message: z.string(), params: z.looseObject({}).optional() }),
});

/**
 * The event `patch` of the stream: the changes since the event before. `set`: the members that changed. `lists`: for each list that changed,
 * new and changed entries, and the order of all ids (`null`: unchanged).
 */
export const patchShape = z.strictObject({
  generated_at: z.string().nullable(),
  set: z.record(z.string(), z.json()),
  lists: z.partialRecord(
    z.enum(LISTS),
    z.strictObject({ order: z.array(z.string()).nullable(), upsert: z.array(z.looseObject({ issue_id: z.string() })) }),
  ),
});

export type AnswerRequest = z.infer<typeof answerRequestShape>;
export type Patch = z.infer<typeof patchShape>;
