import type { ErrorCode } from '../../../src/domain/errors.js';
import { type Fields, fieldsOf } from '../../../src/domain/fields.js';
import type { Json } from '../../../src/domain/json.js';
import type { ExitStatus } from '../../contain/process.js';

/** How an execution ended. */
export type SideEnd =
  | { readonly state: 'completed'; readonly result: Json; readonly additionalContext?: Json }
  | { readonly state: 'failed'; readonly code: ErrorCode; readonly message: string }
  /** Its own limit, or that of the step. */
  | { readonly state: 'timeout'; readonly code: 'EXECUTION_TIMEOUT'; readonly message: string }
  /** Ended from outside; `reason` is that of the signal. */
  | { readonly state: 'stopped'; readonly code: 'INTERRUPTED'; readonly message: string; readonly reason: unknown };

const MAX_MESSAGE_CHARACTERS = 4_000;

export function failed(code: ErrorCode, message: string): SideEnd {
  return { state: 'failed', code, message: cut(message) };
}

/** What the signal of an execution was aborted for. */
export function endOfAbort(reason: unknown): SideEnd {
  if (reason === 'step_timeout') return timedOut('it took longer than timeout_s of its step');
  return { state: 'stopped', code: 'INTERRUPTED', message: 'it was stopped', reason };
}

export function timedOut(message: string): SideEnd {
  return { state: 'timeout', code: 'EXECUTION_TIMEOUT', message };
}

/** `actionBlockComplete` and its twins on the channel; `null`: some other message. */
export function endOfMessage(message: Fields): SideEnd | null {
  const { type, result, error } = message;
  if (type === 'sideExecutionError') return failed('CAPABILITY_FAILED', textOfError(error ?? message.message));
  if (type !== 'actionBlockComplete' && type !== 'sideExecutionComplete') return null;
  if (error !== undefined && error !== null && error !== false) return failed('CAPABILITY_FAILED', textOfError(error));
  const { result: inner, additionalContext, ...others } = fieldsOf(result) as { readonly [key: string]: Json };
  // Only what is nothing but these two: a result with more members is one as a whole.
  if (additionalContext !== undefined && Object.keys(others).length === 0) {
    return { state: 'completed', result: inner ?? null, additionalContext };
  }
  return { state: 'completed', result: (result ?? null) as Json };
}

/**
 * What it means that a child ended without an answer. Node.js tells of code that it cannot compile on stderr, with nothing but
 * its own frames below: a SyntaxError that the code itself ran into (`JSON.parse`) has others.
 */
export function endOfExit(status: ExitStatus, stderr: string, wasConnected: boolean): SideEnd {
  const complaint = wasConnected || status.code === 0 ? null : syntaxError(stderr);
  if (complaint !== null) return failed('SYNTAX_ERROR', complaint);
  const how = status.signal === null ? `exited with code ${status.code}` : `was killed by ${status.signal}`;
  const when = wasConnected ? 'before it answered' : 'before it connected';
  return failed('PROCESS_CRASHED', `the executor ${how} ${when}`);
}

function textOfError(error: unknown): string {
  if (typeof error === 'string' && error !== '') return error;
  const { message } = fieldsOf(error);
  if (typeof message === 'string' && message !== '') return message;
  return error === undefined || error === null || error === '' ? 'it gives no reason' : JSON.stringify(error);
}

function syntaxError(stderr: string): string | null {
  const lines = stderr.split('\n');
  const at = lines.findLastIndex((line) => line.startsWith('SyntaxError: '));
  if (at < 0 || !/^\s+at .*\bnode:internal\//.test(lines[at + 1] ?? '')) return null;
  const place = lines.slice(0, at).findLast((line) => /^(?:file:\/\/)?\/.*:\d+$/.test(line));
  return place === undefined ? (lines[at] ?? '') : `${place}: ${lines[at]}`;
}

function cut(text: string): string {
  return text.length > MAX_MESSAGE_CHARACTERS ? `${text.slice(0, MAX_MESSAGE_CHARACTERS)} …` : text;
}
