import type { ErrorCode } from '../../../src/domain/errors.js';
import { type Fields, fieldsOf, type Json } from '../../../src/domain/json.js';
import type { ExitStatus } from '../../contain/process.js';

/** The end of an execution. */
export type ExecutionEnd =
  | { readonly state: 'completed'; readonly result: Json; readonly additionalContext?: Json }
  | { readonly state: 'failed'; readonly code: ErrorCode; readonly message: string }
  /** The time limit of the execution or of its step. */
  | { readonly state: 'timeout'; readonly code: 'EXECUTION_TIMEOUT'; readonly message: string }
  /** `reason` is the reason of the abort signal. */
  | { readonly state: 'stopped'; readonly code: 'INTERRUPTED'; readonly message: string; readonly reason: unknown };

const MAX_MESSAGE_CHARACTERS = 4_000;

export function failExecution(code: ErrorCode, message: string): ExecutionEnd {
  return { state: 'failed', code, message: cut(message) };
}

/** The end that belongs to an abort reason. */
export function endOfAbort(reason: unknown): ExecutionEnd {
  if (reason === 'step_timeout') return timedOut('it took longer than timeout_s of its step');
  return { state: 'stopped', code: 'INTERRUPTED', message: 'it was stopped', reason };
}

export function timedOut(message: string): ExecutionEnd {
  return { state: 'timeout', code: 'EXECUTION_TIMEOUT', message };
}

/** Reads `actionBlockComplete`, and `sideExecutionComplete` or `sideExecutionError` of the channel. Returns `null` for other messages. */
export function endOfMessage(message: Fields): ExecutionEnd | null {
  const { type, result, error } = message;
  if (type === 'sideExecutionError') return failExecution('CAPABILITY_FAILED', textOfError(error ?? message.message));
  if (type !== 'actionBlockComplete' && type !== 'sideExecutionComplete') return null;
  if (error !== undefined && error !== null && error !== false)
    return failExecution('CAPABILITY_FAILED', textOfError(error));
  const { result: inner, additionalContext, ...others } = fieldsOf(result) as { readonly [key: string]: Json };
  // A result with other members is a result as a whole.
  if (additionalContext !== undefined && Object.keys(others).length === 0) {
    return { state: 'completed', result: inner ?? null, additionalContext };
  }
  return { state: 'completed', result: (result ?? null) as Json };
}

/**
 * The end of a child that exited without an answer. Node.js reports code that it cannot compile on stderr, with only its own frames
 * below: a SyntaxError thrown by the code itself (`JSON.parse`) has other frames.
 */
export function endOfExit(status: ExitStatus, stderr: string, wasConnected: boolean): ExecutionEnd {
  const syntax = wasConnected || status.code === 0 ? null : syntaxError(stderr);
  if (syntax !== null) return failExecution('SYNTAX_ERROR', syntax);
  const how = status.code === null ? `was killed by ${status.signal ?? 'a signal'}` : `exited with code ${status.code}`;
  const when = wasConnected ? 'before it answered' : 'before it connected';
  return failExecution('PROCESS_CRASHED', `the executor ${how} ${when}`);
}

function textOfError(error: unknown): string {
  if (typeof error === 'string' && error !== '') return error;
  const { message } = fieldsOf(error);
  if (typeof message === 'string' && message !== '') return message;
  return error === undefined || error === null || error === '' ? 'it gave no reason' : JSON.stringify(error);
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
