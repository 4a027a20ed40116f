import type { JsonObject } from './json.js';

/**
 * What a run says while it lives. `event` is for people (log, transcript, page); the others are what the core decides
 * on, already classified by the executor: only it knows which of its messages are progress.
 */
export type RunSignal =
  | { readonly type: 'event'; readonly event: RuntimeEvent }
  /** `preparing`: workspace, hooks, prompt. `agent`: the stall clock runs. `finishing`: after_run. */
  | { readonly type: 'phase'; readonly phase: RunPhase }
  /** Turn, item, delta, tool or approval traffic. `openItems`: commands, tools and reasoning that have begun and not ended. */
  | { readonly type: 'progress'; readonly openItems: number }
  /** The step that was begun last; there may be others beside it. */
  | { readonly type: 'step'; readonly stepId: string; readonly kind: string }
  /** SHA-256 of what the run is about and of what its agent is told. */
  | { readonly type: 'rendered'; readonly issueHash: string; readonly promptHash: string }
  /** Who does the work, as far as it says so. */
  | { readonly type: 'agent_known'; readonly version: string | null; readonly model: string | null }
  | { readonly type: 'session'; readonly threadId: string; readonly turnId: string; readonly turn: number }
  | { readonly type: 'usage'; readonly threadId: string; readonly totals: TokenTotals }
  | { readonly type: 'asked'; readonly question: Question }
  | { readonly type: 'question_closed'; readonly questionId: string }
  /** Tools of the host that are at work for the run: each may be moving its issue, and the tracker may show that before it returns. */
  | { readonly type: 'host_calls'; readonly open: number }
  /** The run's own tool moved its own issue. */
  | { readonly type: 'moved_issue'; readonly state: string };

export type RunPhase = 'preparing' | 'agent' | 'finishing';

/** Something an agent asks a person. */
export interface Question {
  /** Unique among all runs: an answer that comes late finds no other question. */
  readonly id: string;
  readonly kind: 'approval' | 'input';
  /** What is asked, for a person: the command, the diff, the question's text. */
  readonly text: string;
  readonly fields: readonly QuestionField[];
}

/** One blank of an `input` question; an `approval` has none. */
export interface QuestionField {
  readonly id: string;
  readonly label: string;
  readonly options: readonly string[];
}

export type Answer =
  | { readonly kind: 'accept' }
  /** `isLate`: nobody answered in time, and the workflow says no then. */
  | { readonly kind: 'decline'; readonly isLate?: true }
  /** By field id. */
  | { readonly kind: 'input'; readonly values: { readonly [fieldId: string]: string } };

/** What an agent client reports upward, exactly these types (seed S2). */
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
  /** Absolute totals of the thread, when the message carried them. */
  readonly usage?: TokenTotals;
  readonly threadId?: string;
  readonly turnId?: string;
  readonly sessionId?: string;
  /** The protocol method behind it, where there is one. */
  readonly method?: string;
  /** The folder that the agent works in, where the message names files. */
  readonly workspace?: string;
  /** What belongs to the type; already bounded in size. */
  readonly data?: JsonObject;
}

/** Absolute token counts of one thread. `cached` is the part of `input` that was served from a cache. */
export interface TokenTotals {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}
