import type { Trust } from '../domain/config.js';
import type { Issue } from '../domain/issue.js';

/** Somebody who wrote something. `isMember: null`: the tracker does not know. */
export interface Writer {
  readonly login: string | null;
  readonly isMember: boolean | null;
}

/** Under `members` only a plain yes counts where memberships are known; where they are not, `null` stays `null`. */
export function isTrustedWriter(writer: Writer, trust: Trust): boolean | null {
  if (trust === 'anyone') return true;
  if (trust === 'members') return writer.login === null ? false : writer.isMember;
  const { login } = writer;
  return login !== null && trust.some((name) => nameKey(name) === login.toLowerCase());
}

/** People write logins as they mention each other: `@ann`. */
function nameKey(name: string): string {
  return name.trim().replace(/^@/, '').toLowerCase();
}

/** An account that is gone has no name any more. */
const NOBODY = 'somebody whose account is gone';

export function authorOf(writer: Writer, trust: Trust): Issue['author'] {
  return { login: writer.login ?? NOBODY, trusted: isTrustedWriter(writer, trust) };
}

/** The newest comments that may reach an agent, oldest first. */
export const MAX_COMMENTS = 30;
const MAX_COMMENT_CHARS = 10_000;
const MAX_ALL_CHARS = 60_000;

export interface WrittenComment extends Writer {
  readonly body: string;
  readonly created_at: string | null;
}

/** Trusted ones only, the newest 30, each cut at 10,000 characters and all of them at 60,000: a prompt is no archive. */
export function trustedComments(written: readonly WrittenComment[], trust: Trust): Issue['comments'] {
  const trusted = written.filter((comment) => isTrustedWriter(comment, trust) !== false && comment.body.trim() !== '');
  const kept: { author: string | null; body: string; created_at: string | null }[] = [];
  let chars = 0;
  for (const { login, body, created_at } of trusted.slice(-MAX_COMMENTS).reverse()) {
    const text = body.length <= MAX_COMMENT_CHARS ? body : `${body.slice(0, MAX_COMMENT_CHARS)}\n… (cut)`;
    chars += text.length;
    if (chars > MAX_ALL_CHARS) break;
    kept.unshift({ author: login, body: text, created_at });
  }
  return kept;
}
