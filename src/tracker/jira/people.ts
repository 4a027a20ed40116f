import type { Trust } from '../../domain/config.js';
import { fieldsOf, textOf } from '../../domain/fields.js';
import type { Issue } from '../../domain/issue.js';
import { authorOf, isTrustedWriter, type Writer } from '../trust.js';

/** An account of Atlassian's, as Jira tells it. */
export interface Person {
  readonly accountId: string;
  readonly displayName: string;
  /** `null` where its owner keeps it to themselves. */
  readonly email: string | null;
  /** As far as Jira tells: neither a customer of a portal nor an app. A customer may have an account like everybody's, though. */
  readonly isMember: boolean;
}

export function personOf(value: unknown): Person | null {
  const { accountId, displayName, emailAddress, accountType } = fieldsOf(value);
  const id = textOf(accountId);
  if (id === null) return null;
  const name = textOf(displayName) ?? id;
  return { accountId: id, displayName: name, email: textOf(emailAddress), isMember: accountType === 'atlassian' };
}

export function isTrustedPerson(person: Person | null, trust: Trust): boolean {
  return writersOf(person).some((writer) => isTrustedWriter(writer, trust) === true);
}

/** Told by the name that people see, and by the one to write under `tracker.trust` where that is wanted. */
export function authorIn(person: Person | null, trust: Trust): Issue['author'] {
  const trusted = isTrustedPerson(person, trust);
  const name = person?.displayName ?? null;
  const isToBeListed = person !== null && !trusted && typeof trust !== 'string';
  const login = isToBeListed ? `${name} (${person.accountId})` : name;
  const told = authorOf({ login, isMember: person?.isMember ?? false }, trust);
  return told && { ...told, trusted };
}

/** The person that `tracker.provider.assignee` means. */
export interface WantedAssignee {
  /** As written. */
  readonly name: string;
  is(person: Person): boolean;
}

/** Why an issue with this assignee is not ours, going on from "it …"; `null`: it is. */
export function heldBackFrom(wanted: WantedAssignee, assignee: Person | null): string | null {
  if (assignee !== null && wanted.is(assignee)) return null;
  return `is assigned to ${assignee?.displayName ?? 'nobody'}, not to ${wanted.name}`;
}

export function assigneeNamed(name: string): WantedAssignee {
  const wanted = name.toLowerCase();
  return {
    name,
    is: ({ accountId, displayName, email }) =>
      [accountId, displayName, email].some((each) => each?.toLowerCase() === wanted),
  };
}

/** By id or address: anybody can call themselves anything, so that a displayed name proves nothing. */
function writersOf(person: Person | null): readonly Writer[] {
  if (person === null) return [{ login: null, isMember: false }];
  const { accountId, email, isMember } = person;
  const names = email === null ? [accountId] : [accountId, email];
  return names.map((login) => ({ login, isMember }));
}
