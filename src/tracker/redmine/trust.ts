import type { Trust } from '../../domain/config.js';
import { fieldsOf, textOf } from '../../domain/json.js';
import type { HttpReading } from '../http/tracker-http.js';
import { idIn, readList } from './api.js';

/** The author or assignee of an issue or note. Redmine gives no logins there. */
export interface Person {
  readonly id: number | null;
  readonly name: string | null;
}

export function personIn(value: unknown): Person {
  const { id, name } = fieldsOf(value);
  return { id: idIn(id), name: textOf(name) };
}

export type IsTrusted = (person: Person) => boolean;

const MAX_AGE_MS = 5 * 60_000;

/**
 * Caches the members of the project and the logins of users, each for five minutes. Users can change their displayed name, so
 * only numbers and logins count. Both are read only when the settings need them.
 */
export class People {
  #members: { readonly ids: ReadonlySet<number>; readonly atMs: number } | null = null;
  readonly #logins = new Map<number, { readonly login: string | null; readonly atMs: number }>();

  constructor(
    private readonly project: string,
    private readonly nowMs: () => number,
  ) {}

  /** The returned function knows only these users. */
  async trustCheck(people: readonly Person[], trust: Trust, reading: HttpReading): Promise<IsTrusted> {
    if (trust === 'anyone') return () => true;
    if (trust === 'members') {
      const members = await this.#readMembers(reading);
      return ({ id }) => id !== null && members.has(id);
    }
    const trusted = new Set<number>();
    for (const id of new Set(people.flatMap((person) => person.id ?? []))) {
      if (await this.isOneOf(id, trust, reading)) trusted.add(id);
    }
    return ({ id }) => id !== null && trusted.has(id);
  }

  /** `names` are logins or numbers of users. */
  async isOneOf(id: number, names: readonly string[], reading: HttpReading): Promise<boolean> {
    const wanted = names.map((name) => name.trim().replace(/^@/, '').toLowerCase());
    if (wanted.includes(String(id))) return true;
    // Digits are always a number: with open registration, a user could choose another user's number as login.
    const logins = wanted.filter((name) => !/^\d+$/.test(name));
    if (logins.length === 0) return false;
    const login = await this.#readLogin(id, reading);
    return login !== null && logins.includes(login.toLowerCase());
  }

  async #readMembers(reading: HttpReading): Promise<ReadonlySet<number>> {
    const nowMs = this.nowMs();
    if (this.#members !== null && nowMs - this.#members.atMs < MAX_AGE_MS) return this.#members.ids;
    const path = `/projects/${encodeURIComponent(this.project)}/memberships.json`;
    const records = await readList(reading, { path, key: 'memberships', filters: {} });
    // Redmine lists the users of a group beside the group.
    const ids = new Set(records.flatMap(({ user }) => idIn(fieldsOf(user).id) ?? []));
    this.#members = { ids, atMs: nowMs };
    return ids;
  }

  /** Returns null for groups, and when Redmine hides the user from this account. */
  async #readLogin(id: number, reading: HttpReading): Promise<string | null> {
    const nowMs = this.nowMs();
    const cached = this.#logins.get(id);
    if (cached && nowMs - cached.atMs < MAX_AGE_MS) return cached.login;
    const { body, status } = await reading.get(`/users/${id}.json`, { accept: [403, 404] });
    const login = status === 200 ? textOf(fieldsOf(fieldsOf(body).user).login) : null;
    this.#logins.set(id, { login, atMs: nowMs });
    return login;
  }
}
