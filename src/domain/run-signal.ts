import type { JsonObject } from './json.js';

/**
 * Signals of a run. `event` is for people (log, transcript, page). The core decides on the others; the executor classifies them,
 * because only it knows which of its messages are progress.
 */
export type RunSignal =
  | { readonly type: 'event'; readonly event: RuntimeEvent }
  /** `preparing`: workspace, hooks, prompt. `agent`: the stall clock runs. `finishing`: after_run. */
  | { readonly type: 'phase'; readonly phase: RunPhase }
  /** Turn, item, delta, tool or approval traffic. `openItems` counts commands, tools and reasoning in progress. */
  | { readonly type: 'progress'; readonly openItems: number }
  /** A step started. Others may run in parallel. */
  | { readonly type: 'step'; readonly stepId: string; readonly kind: string }
  /** SHA-256 of the rendered issue and of the prompt. */
  | { readonly type: 'rendered'; readonly issueHash: string; readonly promptHash: string }
  /** Version and model, as far as the agent reports them. */
  | { readonly type: 'agent_known'; readonly version: string | null; readonly model: string | null }
  | { readonly type: 'session'; readonly threadId: string; readonly turnId: string; readonly turn: number }
  | { readonly type: 'usage'; readonly threadId: string; readonly totals: TokenTotals }
  /** `wholeText`: the text of a question that was cut, for the transcript. */
  | { readonly type: 'asked'; readonly question: Question; readonly wholeText?: string }
  | { readonly type: 'question_closed'; readonly questionId: string }
  /** Host tool calls in progress. Each may be moving the issue, and the tracker may show that before the call returns. */
  | { readonly type: 'host_calls'; readonly open: number }
  /** The run's own tool moved its own issue. */
  | { readonly type: 'moved_issue'; readonly state: string };

export type RunPhase = 'preparing' | 'agent' | 'finishing';

/** A question of an agent to a person. */
export interface Question {
  /** Unique across all runs, so that a late answer cannot match another question. */
  readonly id: string;
  readonly kind: 'approval' | 'input';
  /** The command, the diff or the text of the question. */
  readonly text: string;
  readonly fields: readonly QuestionField[];
  /** Something was left out. A person who has not seen all of it can only decline. */
  readonly isCut?: true;
  /** The question is about a push that is held: the digest of what would be pushed. The run asks after its agents have ended. */
  readonly heldPush?: string;
}

/** One field of an `input` question; an `approval` has none. */
export interface QuestionField {
  readonly id: string;
  readonly label: string;
  readonly options: readonly string[];
}

export type Answer =
  | { readonly kind: 'accept' }
  /** `isLate`: no answer came in time, and `on_input_timeout` is `decline`. */
  | { readonly kind: 'decline'; readonly isLate?: true }
  /** By field id. */
  | { readonly kind: 'input'; readonly values: { readonly [fieldId: string]: string } };

/** The types of events that an agent client reports (seed S2). */
export const RUNTIME_EVENT_TYPES = [
  'session_started',
  'startup_failed',
  'turn_completed',
  'turn_failed',
  'turn_cancelled',
  'turn_ended_with_error',
  'turn_input_required',
  'approval_auto_approved',
  'unsupported_tool_call',
  'notification',
  'other_message',
  'malformed',
] as const;

export type RuntimeEventType = (typeof RUNTIME_EVENT_TYPES)[number];

export interface RuntimeEvent {
  readonly type: RuntimeEventType;
  /** UTC, ISO 8601. */
  readonly timestamp: string;
  readonly pid: number | null;
  /** Absolute totals of the thread, if the message has them. */
  readonly usage?: TokenTotals;
  readonly threadId?: string;
  readonly turnId?: string;
  readonly sessionId?: string;
  /** The protocol method of the message, if any. */
  readonly method?: string;
  /** The agent's working folder, for messages that name files. */
  readonly workspace?: string;
  /** Data of the event type; its size is already limited. */
  readonly data?: JsonObject;
}

/** Absolute token counts of one thread. `cached` is the part of `input` that was served from a cache. */
export interface TokenTotals {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}
