import { BatonError } from '../../domain/errors.js';
import { fieldsOf, listOf, textOf } from '../../domain/fields.js';
import { shown } from '../shown-words.js';

export interface AskedWhere {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly tokenFrom: string;
}

/** 401 and 403 are about the token; everything else is about the request or the server. `details.status` says which. */
export function badStatus(where: AskedWhere, status: number, body: string, mask: (text: string) => string): BatonError {
  const said = saidIn(body, mask);
  const detail = said === '' ? '' : ` It says: ${said}`;
  if (status === 401 || status === 403) {
    const problem =
      status === 401
        ? `${where.name} does not accept the token of ${where.tokenFrom} (401): it is wrong, was revoked or has expired.`
        : `${where.name} forbids ${where.method} ${where.path} to the token of ${where.tokenFrom} (403): it lacks a permission.`;
    const action = `Put a good token into ${where.tokenFrom} and restart, or give it the rights that docs/trackers.md lists.`;
    return new BatonError('tracker_auth', `${problem} ${action}${detail}`, { status });
  }
  const message = `${where.name}: ${where.method} ${where.path} answered ${status}.${detail}`;
  return new BatonError('tracker_status', message, { status });
}

export function tooManyRequests(where: AskedWhere, resetAtMs: number): BatonError {
  const until = new Date(resetAtMs).toISOString();
  const message = `${where.name} limits our requests until ${until}. Nothing to do: Baton waits. If it happens often, raise polling.interval_ms.`;
  return new BatonError('tracker_rate_limited', message, { resetAtMs });
}

/** What a tracker says about its refusal, where trackers commonly say it, on one line and without secrets. */
export function saidIn(body: string, mask: (text: string) => string): string {
  let parsed: unknown = null;
  try {
    parsed = JSON.parse(body);
  } catch {
    // A page of HTML says nothing that helps.
    if (/^\s*</.test(body)) return '';
  }
  return shown(parsed === null ? body : messageIn(parsed), mask);
}

function messageIn(value: unknown): string {
  const { message, error, errors, errorMessages, error_description: description } = fieldsOf(value);
  const many = [...listOf(errorMessages), ...listOf(errors)].map((one) => textOf(one) ?? textOf(fieldsOf(one).message));
  const byField = Object.values(fieldsOf(errors)).map(textOf);
  const single = [message, error, fieldsOf(error).message, description].map(textOf);
  const nested = message !== null && typeof message === 'object' ? [JSON.stringify(message)] : [];
  return [...single, ...many, ...byField, ...nested].filter((one) => one !== null).join('; ');
}
