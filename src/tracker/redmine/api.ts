import type { Trust } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import { stateKey } from '../../domain/issue.js';
import { type Fields, fieldsOf, textOf } from '../../domain/json.js';
import type { HttpReading } from '../http/tracker-http.js';
import { type Page, readPages } from '../read-pages.js';

interface ListOrder {
  readonly path: string;
  /** Under which name the answer holds the list. */
  readonly key: string;
  readonly filters: { readonly [name: string]: string };
}

/** Redmine gives no more at once, whatever is asked for. */
const PAGE_SIZE = 100;

/** All pages of a list, each record once. Redmine counts records, not pages, and tells how many there are. */
export function readList(reading: HttpReading, order: ListOrder): Promise<readonly Fields[]> {
  return readPages({
    name: 'Redmine',
    first: 0,
    read: (offset: number) => readPage(reading, order, offset),
    idOf: ({ id }: Fields) => numberIn(id)?.toString() ?? null,
  });
}

async function readPage(reading: HttpReading, order: ListOrder, offset: number): Promise<Page<Fields, number>> {
  const query = new URLSearchParams({ ...order.filters, limit: String(PAGE_SIZE), offset: String(offset) });
  const { body } = await reading.get(`${order.path}?${query}`, { isConditional: true });
  const answer = fieldsOf(body);
  const items = answer[order.key];
  const { total_count: total, offset: told, limit } = answer;
  if (!Array.isArray(items) || !isCount(total)) {
    const message = `Redmine answered GET ${order.path} without a list of ${order.key} and its length. Check tracker.provider.endpoint.`;
    throw new BatonError('tracker_response', message);
  }
  if (told !== offset || !isCount(limit) || limit === 0) {
    const message = `The pages of Redmine do not fit together: asked for the records from ${offset} on, it tells others. Baton reads them again at the next poll.`;
    throw new BatonError('tracker_pagination', message);
  }
  const end = offset + items.length;
  return { items: items.map(fieldsOf), next: end < total ? end : null };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Redmine keeps them in 32 bits: a larger one is no issue, and some databases fail over it. */
const MAX_NUMBER = 2 ** 31 - 1;

/** The number of an issue from what people and we write: `12`, `#12`, `RM-12`. `null`: it is none. */
export function issueNumberOf(written: string): number | null {
  const digits = /^(?:RM-|#)?([1-9]\d{0,9})$/i.exec(written.trim())?.[1];
  const number = Number(digits ?? Number.NaN);
  return number <= MAX_NUMBER ? number : null;
}

export function identifierOf(number: number): string {
  return `RM-${number}`;
}

/** An id in an answer. */
export function numberIn(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : null;
}

/** As whom the key is known. */
export interface Me {
  readonly id: number;
  readonly login: string;
  readonly isAdmin: boolean;
}

export interface Status {
  readonly id: number;
  readonly name: string;
}

interface Facts {
  readonly me: Me;
  readonly statuses: readonly Status[];
  readonly readAtMs: number;
}

const FRESH_MS = 5 * 60_000;
/** Something unknown showed up: look again, but not at every poll. */
const RENEW_AFTER_MS = 60_000;

/** Who we are and which statuses there are: read with the first read, then now and then. */
export class BoardFacts {
  #facts: Facts | null = null;

  constructor(
    private readonly nowMs: () => number,
    private readonly tokenFrom: string,
  ) {}

  get statuses(): readonly Status[] {
    return this.#facts?.statuses ?? [];
  }

  /** Not older than five minutes. */
  fresh(reading: HttpReading): Promise<Facts> {
    return this.#notOlderThan(FRESH_MS, reading);
  }

  /** Facts that know this status; where Redmine has none of that name, the newest that there are. */
  async knowing(names: readonly string[], reading: HttpReading): Promise<Facts> {
    const facts = await this.fresh(reading);
    const isKnown = names.every((name) => statusNamed(facts, name) !== null);
    return isKnown ? facts : this.#notOlderThan(RENEW_AFTER_MS, reading);
  }

  /**
   * Throws unless Redmine knows the key. With a key that it does not know, or while its REST API is off, it answers most questions as it
   * would a stranger: without what strangers may not see. So a list from which something is missing proves nothing before this.
   */
  async verifyKey(reading: HttpReading): Promise<Me> {
    const { body, status } = await reading.get('/users/current.json', { isConditional: true, accept: [403] });
    if (status === 403) {
      const problem = `Redmine does not let the key of ${this.tokenFrom} in (403).`;
      const action =
        'Enable the REST web service under Administration → Settings → API, and see that the account is active.';
      throw new BatonError('tracker_auth', `${problem} ${action}`, { status });
    }
    const user = fieldsOf(fieldsOf(body).user);
    const id = numberIn(user.id);
    const login = textOf(user.login);
    if (id === null || login === null) throw unreadable('/users/current.json', 'without the user');
    return { id, login, isAdmin: user.admin === true };
  }

  async #notOlderThan(ageMs: number, reading: HttpReading): Promise<Facts> {
    const now = this.nowMs();
    if (this.#facts !== null && now - this.#facts.readAtMs < ageMs) return this.#facts;
    const me = await this.verifyKey(reading);
    const statuses = await readStatuses(reading);
    this.#facts = { me, statuses, readAtMs: now };
    return this.#facts;
  }
}

export function statusNamed({ statuses }: Pick<Facts, 'statuses'>, name: string): Status | null {
  return statuses.find((status) => stateKey(status.name) === stateKey(name)) ?? null;
}

async function readStatuses(reading: HttpReading): Promise<readonly Status[]> {
  const path = '/issue_statuses.json';
  const { body } = await reading.get(path, { isConditional: true });
  const { issue_statuses: list } = fieldsOf(body);
  if (!Array.isArray(list)) throw unreadable(path, 'without a list of statuses');
  return list.map(fieldsOf).map((status) => {
    const id = numberIn(status.id);
    const name = textOf(status.name);
    if (id === null || name === null) throw unreadable(path, 'with a status that has no number or no name');
    return { id, name };
  });
}

export function unreadable(path: string, problem: string): BatonError {
  const message = `Redmine answered GET ${path} ${problem}. Check tracker.provider.endpoint.`;
  return new BatonError('tracker_response', message);
}

/** Somebody as issues and comments name them: never by login. */
export interface Person {
  readonly id: number | null;
  readonly name: string | null;
}

/** Whether what this person wrote is trusted. */
export type Judge = (person: Person) => boolean;

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
