import { BatonError } from '../../domain/errors.js';
import { stateKey } from '../../domain/issue.js';
import { fieldsOf, textOf } from '../../domain/json.js';
import type { HttpReading } from '../http/tracker-http.js';
import { idIn, invalidAnswer } from './api.js';

/** The account of the key and the statuses of the server. */
export interface ServerFacts {
  readonly account: Account;
  readonly statuses: readonly Status[];
}

export interface Account {
  readonly id: number;
  readonly login: string;
  readonly isAdmin: boolean;
}

export interface Status {
  readonly id: number;
  readonly name: string;
}

const MAX_AGE_MS = 5 * 60_000;
/** An unknown status makes the cache reload early, but not at every poll. */
const MIN_AGE_MS = 60_000;

/** Caches account and statuses. It is empty before the first read, then reloads when it is old or lacks a status. */
export class FactsCache {
  #cached: { readonly facts: ServerFacts; readonly atMs: number } | null = null;

  constructor(
    private readonly nowMs: () => number,
    private readonly tokenFrom: string,
  ) {}

  get statuses(): readonly Status[] {
    return this.#cached?.facts.statuses ?? [];
  }

  /** `needed`: names of statuses that the facts should know. */
  async read(reading: HttpReading, needed: readonly string[] = []): Promise<ServerFacts> {
    const facts = await this.#notOlderThan(MAX_AGE_MS, reading);
    const isComplete = needed.every((name) => statusNamed(facts, name) !== null);
    return isComplete ? facts : this.#notOlderThan(MIN_AGE_MS, reading);
  }

  /**
   * Throws `tracker_auth` when Redmine rejects the key. With a bad key, or with its REST API switched off, Redmine answers most
   * requests as for an anonymous user. A missing issue is proven gone only after this check.
   */
  async verifyKey(reading: HttpReading): Promise<Account> {
    const { body, status } = await reading.get('/users/current.json', { isConditional: true, accept: [403] });
    if (status === 403) {
      const problem = `Redmine rejects the key of ${this.tokenFrom} (403).`;
      const action =
        'Enable the REST web service under Administration → Settings → API, and check that the account is active.';
      throw new BatonError('tracker_auth', `${problem} ${action}`, { status });
    }
    const user = fieldsOf(fieldsOf(body).user);
    const id = idIn(user.id);
    const login = textOf(user.login);
    if (id === null || login === null) throw invalidAnswer('/users/current.json', 'without the user');
    return { id, login, isAdmin: user.admin === true };
  }

  async #notOlderThan(maxAgeMs: number, reading: HttpReading): Promise<ServerFacts> {
    const nowMs = this.nowMs();
    if (this.#cached !== null && nowMs - this.#cached.atMs < maxAgeMs) return this.#cached.facts;
    const account = await this.verifyKey(reading);
    const facts = { account, statuses: await readStatuses(reading) };
    this.#cached = { facts, atMs: nowMs };
    return facts;
  }
}

export function statusNamed({ statuses }: Pick<ServerFacts, 'statuses'>, name: string): Status | null {
  return statuses.find((status) => stateKey(status.name) === stateKey(name)) ?? null;
}

async function readStatuses(reading: HttpReading): Promise<readonly Status[]> {
  const path = '/issue_statuses.json';
  const { body } = await reading.get(path, { isConditional: true });
  const { issue_statuses: list } = fieldsOf(body);
  if (!Array.isArray(list)) throw invalidAnswer(path, 'without a list of statuses');
  return list.map(fieldsOf).map((status) => {
    const id = idIn(status.id);
    const name = textOf(status.name);
    if (id === null || name === null) throw invalidAnswer(path, 'with a status that has no number or no name');
    return { id, name };
  });
}
