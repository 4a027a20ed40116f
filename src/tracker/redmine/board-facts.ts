import { BatonError } from '../../domain/errors.js';
import { fieldsOf, textOf } from '../../domain/fields.js';
import { stateKey } from '../../domain/issue.js';
import type { HttpReading } from '../http/tracker-http.js';
import { numberIn } from './issue-number.js';

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

export interface Facts {
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
