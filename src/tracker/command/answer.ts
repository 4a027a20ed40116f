import { type Fields, fieldsOf, textOf } from '../../domain/fields.js';

/** One line of the program, read. `id` may be anything: whether it is that of the question, the asker knows. */
export type Answer =
  | { readonly kind: 'result'; readonly id: unknown; readonly result: Fields }
  | { readonly kind: 'error'; readonly id: unknown; readonly error: ProgramError };

export interface ProgramError {
  /** One of `auth`, `rate_limited`, `not_found`, `refused`, `unsupported`, `failed`; any other counts as `failed`. */
  readonly code: string;
  readonly message: string | null;
  readonly resetAt: string | null;
  /** Seconds from now, as HTTP's Retry-After. */
  readonly retryAfterS: number | null;
}

const decoder = new TextDecoder('utf-8', { fatal: true });

/** The answer in a line; a text: what is wrong with it, going on from "it …". */
export function readAnswer(line: Buffer): Answer | string {
  const text = textIn(line);
  if (text === null) return 'wrote a line that is not UTF-8';
  const parsed = parse(text);
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    return parsed === undefined ? 'wrote a line that is not JSON' : 'wrote a line that is no JSON object';
  }
  const { id, result, error } = parsed as Fields;
  if (error !== undefined && error !== null) {
    const { code, message, reset_at: resetAt, retry_after: retryAfter } = fieldsOf(error);
    const read = {
      code: textOf(code) ?? 'failed',
      message: textOf(message) ?? textOf(error),
      resetAt: textOf(resetAt),
      retryAfterS: typeof retryAfter === 'number' ? retryAfter : null,
    };
    return { kind: 'error', id, error: read };
  }
  if (typeof result === 'object' && result !== null && !Array.isArray(result)) {
    return { kind: 'result', id, result: result as Fields };
  }
  return 'wrote an answer that has neither an object as its `result` nor an `error`';
}

function textIn(line: Buffer): string | null {
  try {
    return decoder.decode(line);
  } catch {
    return null;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function isBlank(line: Buffer): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}
