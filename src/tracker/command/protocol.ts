import { BatonError } from '../../domain/errors.js';
import { type Fields, fieldsOf, type JsonObject, textOf } from '../../domain/json.js';
import { shown } from '../../text/neutralise.js';

type Method = 'issues_by_states' | 'issues_by_ids' | 'comments' | 'comment' | 'move' | 'describe';

export interface ProgramRequest {
  readonly method: Method;
  readonly params: JsonObject;
  /** Part of a change that an agent waits for. It overtakes reads. */
  readonly isUrgent?: boolean;
}

/** A change may have been made even when its answer was lost, so it is never sent twice. */
export function isChange({ method }: { readonly method: string }): boolean {
  return method === 'comment' || method === 'move';
}

/** One line of JSON without its line end. ASCII only: some languages treat U+2028 as a line end, others read in the encoding of the locale. */
export function requestLine(
  id: number,
  { method, params }: { readonly method: string; readonly params: JsonObject },
): string {
  return JSON.stringify({ v: 1, id, method, params }).replace(/[\u007f-\uffff]/g, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** A parsed line of the program. The caller checks whether `id` belongs to its request. */
export type ProgramReply =
  | { readonly kind: 'result'; readonly id: unknown; readonly result: Fields }
  | { readonly kind: 'error'; readonly id: unknown; readonly error: ProgramError };

export interface ProgramError {
  /** `auth`, `rate_limited`, `not_found`, `refused`, `unsupported` or `failed`; other codes count as `failed`. */
  readonly code: string;
  readonly message: string | null;
  readonly resetAt: string | null;
  /** Seconds from now, as in HTTP's Retry-After. */
  readonly retryAfterS: number | null;
}

const decoder = new TextDecoder('utf-8', { fatal: true });

/** Returns the reply in a line, or the problem with the line as a text that continues "it …". */
export function parseReply(line: Buffer): ProgramReply | string {
  let text: string;
  try {
    text = decoder.decode(line);
  } catch {
    return 'wrote a line that is not UTF-8';
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return 'wrote a line that is not JSON';
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    return 'wrote a line that is not a JSON object';
  }
  const { id, result, error } = parsed as Fields;
  if (error !== undefined && error !== null) {
    const { code, message, reset_at: resetAt, retry_after: retryAfter } = fieldsOf(error);
    const programError = {
      code: textOf(code) ?? 'failed',
      message: textOf(message) ?? textOf(error),
      resetAt: textOf(resetAt),
      retryAfterS: typeof retryAfter === 'number' ? retryAfter : null,
    };
    return { kind: 'error', id, error: programError };
  }
  if (typeof result === 'object' && result !== null && !Array.isArray(result)) {
    return { kind: 'result', id, result: result as Fields };
  }
  return 'wrote an answer that has neither an object as its `result` nor an `error`';
}

export function isBlank(line: Buffer): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}

/** Used when the program does not say when its limit ends. */
const DEFAULT_WAIT_MS = 60_000;
/** Longer waits come from a wrong clock. */
const MAX_WAIT_MS = 24 * 3_600_000;

interface ErrorContext {
  /** The daemon's variables that the program is given. */
  readonly variables: readonly string[];
  readonly nowMs: number;
  mask(text: string): string;
}

/** The `error` of a reply as a `BatonError`. */
export function errorFrom(error: ProgramError, request: ProgramRequest, context: ErrorContext): BatonError {
  const { code, message } = error;
  const { method } = request;
  const detail = message === null ? '' : ` It says: ${shown(message, context.mask)}`;
  if (code === 'auth')
    return new BatonError(
      'tracker_auth',
      `The tracker program has no access (${method}). ${authAdvice(context)}${detail}`,
    );
  if (code === 'rate_limited') {
    const resetAtMs = resetTime(error, context.nowMs);
    const until = new Date(resetAtMs).toISOString();
    const text = `The tracker program says that its tracker limits requests until ${until}. Nothing to do: Baton waits.${detail}`;
    return new BatonError('tracker_rate_limited', text, { resetAtMs });
  }
  if (code === 'unsupported' && isChange(request))
    return new BatonError('tracker_refused', `${unsupportedChange(method)}${detail}`);
  if (code === 'unsupported')
    return new BatonError(
      'tracker_response',
      `The tracker program does not know ${method}. Add it to the program.${detail}`,
    );
  if (isChange(request) && (code === 'not_found' || code === 'refused')) {
    const reason = code === 'not_found' ? 'the issue does not exist any more' : 'the tracker would not do it';
    return new BatonError('tracker_refused', `${method} was refused: ${reason}.${detail}`);
  }
  const shownCode = shown(code, context.mask);
  return new BatonError('tracker_status', `The tracker program failed at ${method} (${shownCode}).${detail}`);
}

export function unsupportedChange(method: string): string {
  const limit =
    method === 'move' ? 'Issues of this tracker cannot be moved' : 'Issues of this tracker cannot be commented on';
  return `${limit} from here: its program does not know \`${method}\`. Tell a person in your last message instead.`;
}

function authAdvice({ variables }: ErrorContext): string {
  if (variables.length === 0) return 'Renew its credentials; secrets belong under tracker.provider.env.';
  return `Put a good secret into ${variables.join(' or ')} where the daemon is started, and restart.`;
}

function resetTime({ resetAt, retryAfterS }: ProgramError, nowMs: number): number {
  const ms = resetAt !== null ? Date.parse(resetAt) : nowMs + (retryAfterS ?? Number.NaN) * 1_000;
  return ms > nowMs ? Math.min(ms, nowMs + MAX_WAIT_MS) : nowMs + DEFAULT_WAIT_MS;
}
