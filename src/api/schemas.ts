import { z } from 'zod';
import {
  askingShape,
  budgetShape,
  count,
  doneShape,
  holdShape,
  ineligibleShape,
  parkedShape,
  readyShape,
  retryingShape,
  runningShape,
  text,
  textOrNull,
  timeOrNull,
  tokensShape,
} from '../status/shapes/entry-shapes.js';

/** The lists of the state. Every entry of one list is about another issue. */
export const LISTS = ['running', 'asking', 'retrying', 'parked', 'ready', 'ineligible', 'done'] as const;
export type ListName = (typeof LISTS)[number];

/** `GET /api/v1/state`, and the event `state` of the stream. */
export const stateShape = z.strictObject({
  generated_at: timeOrNull,
  daemon: z.strictObject({ version: text, pid: count, started_at: timeOrNull, state_dir: text }),
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
  /** Of all agents since this daemon began. */
  codex_totals: tokensShape.extend({ seconds_running: count }),
  /** As the agent told them last; `null`: not yet. */
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
    /** The time between readings while a low quota stretches it. */
    slowed_to_ms: count.nullable(),
    rate_limit: z.strictObject({ remaining: count, reset_at: timeOrNull }).nullable(),
  }),
  workflow: z.strictObject({
    path: text,
    hash: text,
    loaded_at: timeOrNull,
    /** Why the file as it is now is not in effect. */
    error: z.strictObject({ code: text, message: text }).nullable(),
    /** Keys that were changed and keep their old values until a restart. */
    restart_required: z.array(text),
    backend: z.strictObject({ value: text, source: text }),
    steps: count,
  }),
});

export type StateView = z.infer<typeof stateShape>;
