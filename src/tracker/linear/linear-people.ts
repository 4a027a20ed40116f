import type { Trust } from '../../domain/config.js';
import { fieldsOf, textOf } from '../../domain/fields.js';
import type { Issue } from '../../domain/issue.js';
import { authorOf } from '../trust.js';

/** Somebody who wrote something in Linear. */
export interface Writer {
  readonly login: string | null;
  /** What nobody else in the workspace is called; nothing for those who have no account there. Asked for only where trust is a list. */
  names(): readonly string[];
  readonly isMember: boolean;
}

export interface WriterFields {
  readonly user: unknown;
  /** Somebody from outside, known by an integration. */
  readonly external: unknown;
  readonly bot: unknown;
}

/**
 * A member has an account that is neither suspended, nor a guest's, nor an application's. Who wrote through Slack, by mail or in
 * another tracker has none. A full name tells nobody apart: people choose it, and two may have the same.
 */
export function writerOf({ user, external, bot }: WriterFields): Writer {
  const { id, displayName, email, active, guest, app } = fieldsOf(user);
  const outside = textOf(fieldsOf(external).name);
  const robot = textOf(fieldsOf(bot).userDisplayName) ?? textOf(fieldsOf(bot).name);
  if (textOf(id) === null) return { login: outside ?? robot, names: () => [], isMember: false };
  // What came through an integration is not the word of the member under whose account it was filed.
  const isOwnWord = !isThere(external) && !isThere(bot);
  return {
    login: isOwnWord ? textOf(displayName) : (outside ?? robot),
    names: () => (isOwnWord ? [displayName, email, id].flatMap((name) => textOf(name) ?? []) : []),
    isMember: isOwnWord && active === true && guest === false && app !== true,
  };
}

function isThere(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

export function isTrusted(writer: Writer, trust: Trust): boolean {
  if (trust === 'anyone') return true;
  if (trust === 'members') return writer.isMember;
  // People write names as they mention each other: @ann.
  const trusted = new Set(trust.map((name) => name.trim().replace(/^@/, '').toLowerCase()));
  return writer.names().some((name) => trusted.has(name.toLowerCase()));
}

export function linearAuthor(writer: Writer, trust: Trust): Issue['author'] {
  // Judged here by every name: what is left to say is yes or no.
  return authorOf({ login: writer.login, isMember: writer.isMember }, isTrusted(writer, trust) ? 'anyone' : []);
}

/** Why an issue is not for us, going on from "it …"; `null`: it is. `wanted`: an id, a mail address or a name. */
export function assignedElsewhere(assignee: unknown, wanted: string, shownAs: string): string | null {
  const { id, displayName, email, name } = fieldsOf(assignee);
  const names = [id, displayName, email, name].flatMap((each) => textOf(each)?.toLowerCase() ?? []);
  if (names.includes(wanted.toLowerCase())) return null;
  const who = textOf(displayName) ?? textOf(name) ?? (textOf(id) === null ? 'nobody' : 'somebody else');
  return `is assigned to ${who}, not to ${shownAs}`;
}
