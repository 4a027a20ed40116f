import type { Trust } from '../../domain/config.js';
import { fieldsOf, textOf } from '../../domain/fields.js';
import type { Issue } from '../../domain/issue.js';
import { isTrustedWriter, trustedComments } from '../trust.js';

/** Whom an issue comes from where the program names nobody, when it matters. */
const UNNAMED = '(not named)';

/** `trust`: `null` where nobody wrote it; then the program's own word counts. */
export function authorIn(value: unknown, trust: Trust | null): Issue['author'] {
  const { login, trusted } = writerIn(value);
  const judged = judge(login, trusted, trust);
  if (login !== null) return { login, trusted: judged };
  return judged === false ? { login: UNNAMED, trusted: false } : null;
}

/** The newest comments that an agent may read, oldest first. */
export function commentsIn(values: readonly unknown[], trust: Trust | null): Issue['comments'] {
  const written = values.flatMap((value) => {
    const { author, body, created_at: createdAt } = fieldsOf(value);
    const { login, trusted } = writerIn(author);
    if (typeof body !== 'string' || judge(login, trusted, trust) === false) return [];
    return [{ login, isMember: null, body, created_at: timeIn(createdAt) }];
  });
  const inOrder = written.every(({ created_at: at }) => at !== null)
    ? written.sort((a, b) => Date.parse(a.created_at ?? '') - Date.parse(b.created_at ?? ''))
    : written;
  // Judged above: what is left is only cut to what a prompt can take.
  return trustedComments(inOrder, 'anyone');
}

/** `"ann"` is as good as `{"login": "ann"}`. */
function writerIn(value: unknown): { readonly login: string | null; readonly trusted: unknown } {
  const { login, trusted } = typeof value === 'string' ? { login: value, trusted: null } : fieldsOf(value);
  return { login: textOf(login)?.trim() || null, trusted };
}

/** Under `members` only a plain yes of the program counts; where nobody wrote `tracker.trust`, only its plain no. */
function judge(login: string | null, given: unknown, trust: Trust | null): boolean | null {
  if (trust !== null) return isTrustedWriter({ login, isMember: given === true }, trust);
  return given === undefined || given === null ? null : given === true;
}

function timeIn(value: unknown): string | null {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}
