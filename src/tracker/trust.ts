import type { Trust } from '../domain/config.js';
import type { Issue } from '../domain/issue.js';

/** The author of an issue or a comment. `isMember: null`: unknown. */
export interface Writer {
  readonly login: string | null;
  readonly isMember: boolean | null;
}

/** `null`: trust is `members`, and the tracker does not know memberships. */
export function isTrustedWriter(writer: Writer, trust: Trust): boolean | null {
  if (trust === 'anyone') return true;
  if (trust === 'members') return writer.login === null ? false : writer.isMember;
  const { login } = writer;
  return login !== null && trust.some((name) => nameKey(name) === login.toLowerCase());
}

/** Lists may hold logins like mentions: `@ann`. */
function nameKey(name: string): string {
  return name.trim().replace(/^@/, '').toLowerCase();
}

/** The name of an account that does not exist any more. */
const DELETED_ACCOUNT = 'somebody whose account is gone';

export function authorOf(writer: Writer, trust: Trust): Issue['author'] {
  return { login: writer.login ?? DELETED_ACCOUNT, trusted: isTrustedWriter(writer, trust) };
}

/** How many comments reach an agent. */
export const MAX_COMMENTS = 30;
const MAX_COMMENT_CHARS = 10_000;
const MAX_ALL_CHARS = 60_000;

export interface WrittenComment extends Writer {
  readonly body: string;
  readonly created_at: string | null;
}

/** The newest 30 trusted comments, oldest first, each cut at 10,000 characters and all of them at 60,000. */
export function trustedComments(written: readonly WrittenComment[], trust: Trust): Issue['comments'] {
  const trusted = written.filter((comment) => isTrustedWriter(comment, trust) !== false && comment.body.trim() !== '');
  const comments: { author: string | null; body: string; created_at: string | null }[] = [];
  let chars = 0;
  for (const { login, body, created_at } of trusted.slice(-MAX_COMMENTS).reverse()) {
    const text = body.length <= MAX_COMMENT_CHARS ? body : `${body.slice(0, MAX_COMMENT_CHARS)}\n… (cut)`;
    chars += text.length;
    if (chars > MAX_ALL_CHARS) break;
    comments.unshift({ author: login, body: text, created_at });
  }
  return comments;
}
