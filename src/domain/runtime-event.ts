import type { JsonObject } from './json.js';

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
