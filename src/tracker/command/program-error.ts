import { BatonError } from '../../domain/errors.js';
import { shown } from '../shown-words.js';
import type { ProgramError } from './answer.js';
import { isChange, type Question } from './protocol.js';

/** Nobody says when it ends: long enough to be polite, short enough to notice. */
const UNTOLD_WAIT_MS = 60_000;
/** A reset in a year is a mistake of somebody's clock. */
const MAX_WAIT_MS = 24 * 3_600_000;

export interface ErrorPlace {
  /** The variables of the daemon that the program is given. */
  readonly variables: readonly string[];
  readonly nowMs: number;
  mask(text: string): string;
}

/** What the program answered with `error`, as Baton's own. */
export function errorOf(error: ProgramError, question: Question, place: ErrorPlace): BatonError {
  const { code, message } = error;
  const { method } = question;
  const said = message === null ? '' : ` It says: ${shown(message, place.mask)}`;
  switch (code) {
    case 'auth':
      return new BatonError('tracker_auth', `The tracker program is not let in (${method}). ${renew(place)}${said}`);
    case 'rate_limited': {
      const resetAtMs = resetOf(error, place.nowMs);
      const until = new Date(resetAtMs).toISOString();
      const text = `The tracker program says that its tracker limits requests until ${until}. Nothing to do: Baton waits.${said}`;
      return new BatonError('tracker_rate_limited', text, { resetAtMs });
    }
    case 'unsupported':
      if (isChange(question)) return new BatonError('tracker_refused', `${cannot(method)}${said}`);
      return new BatonError('tracker_response', `The tracker program does not know ${method}. Teach it.${said}`);
    case 'not_found':
    case 'refused':
      if (isChange(question)) {
        const why = code === 'not_found' ? 'the issue does not exist any more' : 'the tracker would not do it';
        return new BatonError('tracker_refused', `${method} was refused: ${why}.${said}`);
      }
      return failed(method, code, said, place);
    default:
      return failed(method, code, said, place);
  }
}

export function cannot(method: string): string {
  const what =
    method === 'move' ? 'Issues of this tracker cannot be moved' : 'Issues of this tracker cannot be commented on';
  return `${what} from here: its program does not know \`${method}\`. Tell a person in your last message instead.`;
}

function failed(method: string, code: string, said: string, { mask }: ErrorPlace): BatonError {
  return new BatonError('tracker_status', `The tracker program failed at ${method} (${shown(code, mask)}).${said}`);
}

function renew({ variables }: ErrorPlace): string {
  if (variables.length === 0) return 'Renew what it logs in with; secrets belong under tracker.provider.env.';
  return `Put a good secret into ${variables.join(' or ')} where the daemon is started, and restart.`;
}

function resetOf({ resetAt, retryAfterS }: ProgramError, nowMs: number): number {
  const ms = resetAt !== null ? Date.parse(resetAt) : nowMs + (retryAfterS ?? Number.NaN) * 1_000;
  return ms > nowMs ? Math.min(ms, nowMs + MAX_WAIT_MS) : nowMs + UNTOLD_WAIT_MS;
}
