import { textOf } from '../domain/fields.js';
import type { RuntimeEvent, RuntimeEventType } from '../domain/runtime-event.js';
import { cutText } from '../logging/cut-text.js';
import { sentenceOf } from '../text/run-sentences.js';

/** What the log has of an event of an agent: numbers and names, and one short sentence. All else belongs into the transcript. */
export interface EventLine {
  readonly level: 'trace' | 'debug' | 'info' | 'warn';
  readonly message: string;
  readonly fields: object;
}

export function eventLine(event: RuntimeEvent): EventLine {
  const { type, method, turnId, usage, data } = event;
  const [level, message] = LINES[type];
  const detail = detailOf(event);
  const fields = {
    event: type,
    ...(detail === null ? {} : { detail }),
    ...(typeof data?.code === 'string' ? { code: data.code } : {}),
    ...(type === 'session_started' && typeof data?.turn === 'number' ? { turn: data.turn } : {}),
    ...(method ? { method } : {}),
    ...(turnId ? { turn_id: turnId } : {}),
    ...(usage ? { usage } : {}),
  };
  return { level: isPiece(event) ? 'trace' : level, message, fields };
}

/**
 * What an operator wants to read by default, and what is for looking closely. What ends a run is for looking closely too: the end of
 * the run tells it, with code and detail.
 */
const LINES: { readonly [type in RuntimeEventType]: readonly ['debug' | 'info' | 'warn', string] } = {
  session_started: ['info', 'turn began'],
  turn_completed: ['info', 'turn completed'],
  turn_failed: ['debug', 'turn failed'],
  turn_cancelled: ['debug', 'turn cancelled'],
  turn_ended_with_error: ['debug', 'turn broke off'],
  startup_failed: ['debug', 'agent could not start'],
  turn_input_required: ['debug', 'agent asks what nobody may answer'],
  approval_auto_approved: ['info', 'agent was allowed what it asked for'],
  unsupported_tool_call: ['warn', 'agent called a tool that does not exist'],
  malformed: ['warn', 'agent wrote a line that cannot be read'],
  other_message: ['debug', 'agent did something unexpected'],
  notification: ['debug', 'agent tells'],
};

/** Of whatever agents and errors say. */
export const MAX_DETAIL = 300;

/** A word or two of a text that is told as a whole at its end. */
function isPiece({ type, method = '' }: RuntimeEvent): boolean {
  return type === 'notification' && /delta$/i.test(method);
}

/** The message says what happened; this says what about it. As it was said: whoever writes the line makes it harmless. */
function detailOf(event: RuntimeEvent): string | null {
  switch (event.type) {
    case 'session_started':
    case 'turn_completed':
      return null;
    case 'startup_failed':
    case 'turn_failed':
    case 'turn_cancelled':
    case 'turn_ended_with_error':
      return shortened(event.data?.message);
    case 'malformed':
      return shortened(event.data?.reason);
    default:
      return sentenceOf(event);
  }
}

function shortened(value: unknown): string | null {
  const text = textOf(value);
  return text === null ? null : cutText(text, MAX_DETAIL);
}
