import type { Trust } from '../../domain/config.js';
import { fieldsOf, textOf } from '../../domain/fields.js';
import type { HttpReading } from '../http/tracker-http.js';
import { numberIn } from './issue-number.js';
import { readList } from './api.js';

/** Somebody as issues and comments name them: never by login. */
export interface Person {
  readonly id: number | null;
  readonly name: string | null;
}

/** Whether what this person wrote is trusted. */
export type Judge = (person: Person) => boolean;

const FRESH_MS = 5 * 60_000;

/**
 * Members of the project, and logins. Redmine names people by number and by a name that everybody may change for themselves, so that only numbers
 * and logins are good for trust. Both are asked for only where the settings need them, and kept for five minutes.
 */
export class People {
  #members: { readonly ids: ReadonlySet<number>; readonly readAtMs: number } | null = null;
  readonly #logins = new Map<number, { readonly login: string | null; readonly readAtMs: number }>();

  constructor(
    private readonly project: string,
    private readonly nowMs: () => number,
  ) {}

  /** A judge who knows these people. */
  async judge(people: readonly Person[], trust: Trust, reading: HttpReading): Promise<Judge> {
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

  /** `names` are logins, or numbers of users. */
  async isOneOf(id: number, names: readonly string[], reading: HttpReading): Promise<boolean> {
    const wanted = names.map((name) => name.trim().replace(/^@/, '').toLowerCase());
    if (wanted.includes(String(id))) return true;
    // Digits are a number and nothing else: where people register, one could choose somebody's number as a login.
    const logins = wanted.filter((name) => !/^\d+$/.test(name));
    if (logins.length === 0) return false;
    const login = await this.#loginOf(id, reading);
    return login !== null && logins.includes(login.toLowerCase());
  }

  async #readMembers(reading: HttpReading): Promise<ReadonlySet<number>> {
    const now = this.nowMs();
    if (this.#members !== null && now - this.#members.readAtMs < FRESH_MS) return this.#members.ids;
    const path = `/projects/${encodeURIComponent(this.project)}/memberships.json`;
    const records = await readList(reading, { path, key: 'memberships', filters: {} });
    // Members through a group are there as users of their own, beside the group.
    const ids = new Set(records.flatMap(({ user }) => numberIn(fieldsOf(user).id) ?? []));
    this.#members = { ids, readAtMs: now };
    return ids;
  }

  /** `null`: it has none (a group), or Redmine does not tell it to us. */
  async #loginOf(id: number, reading: HttpReading): Promise<string | null> {
    const now = this.nowMs();
    const known = this.#logins.get(id);
    if (known && now - known.readAtMs < FRESH_MS) return known.login;
    const { body, status } = await reading.get(`/users/${id}.json`, { accept: [403, 404] });
    const login = status === 200 ? textOf(fieldsOf(fieldsOf(body).user).login) : null;
    this.#logins.set(id, { login, readAtMs: now });
    return login;
  }
}

export function personIn(value: unknown): Person {
  const { id, name } = fieldsOf(value);
  return { id: numberIn(id), name: textOf(name) };
}
