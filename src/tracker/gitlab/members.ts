import { type Fields, fieldsOf } from '../../domain/fields.js';
import type { HttpReading } from '../http/tracker-http.js';
import type { GitlabApi } from './api.js';
import { usernameOf } from './issue.js';
import { readList } from './read-list.js';

/** Planner: from there on people may change the issues of others. Guests write issues like anybody. */
const MEMBER_LEVEL = 15;
const GOOD_FOR_MS = 5 * 60_000;

export type IsMember = (login: string | null) => boolean;

/**
 * Who belongs to the project, by inheritance and invitation too. The list is read again after five minutes, and when somebody turns up who was not asked about since
 * it was read: that may be a new member.
 */
export class Members {
  #logins: ReadonlySet<string> = new Set();
  #strangers = new Set<string>();
  #readAtMs: number | null = null;

  constructor(
    private readonly api: GitlabApi,
    private readonly nowMs: () => number,
  ) {}

  /** The judge over these people. */
  async among(people: Iterable<string | null>, reading: HttpReading): Promise<IsMember> {
    const asked = new Set([...people].flatMap((login) => login?.toLowerCase() ?? []));
    if (asked.size > 0 && (this.#isOld() || this.#hasNewFace(asked))) await this.#read(asked, reading);
    const logins = this.#logins;
    return (login) => login !== null && logins.has(login.toLowerCase());
  }

  #isOld(): boolean {
    return this.#readAtMs === null || this.nowMs() - this.#readAtMs >= GOOD_FOR_MS;
  }

  #hasNewFace(asked: ReadonlySet<string>): boolean {
    return [...asked].some((login) => !this.#logins.has(login) && !this.#strangers.has(login));
  }

  async #read(asked: ReadonlySet<string>, reading: HttpReading): Promise<void> {
    const found = await readList(this.api, reading, {
      segments: ['members', 'all'],
      read: fieldsOf,
      idOf: ({ id }) => (Number.isSafeInteger(id) ? String(id) : null),
    });
    this.#logins = new Set(found.flatMap((fields) => memberIn(fields) ?? []));
    this.#strangers = new Set(
      [...(this.#isOld() ? [] : this.#strangers), ...asked].filter((login) => !this.#logins.has(login)),
    );
    this.#readAtMs = this.nowMs();
  }
}

/** `null`: no member that counts. */
function memberIn(fields: Fields): string | null {
  const { access_level: level, state, membership_state: membership } = fields;
  const isActive = state === 'active' && (membership === undefined || membership === null || membership === 'active');
  const isHighEnough = typeof level === 'number' && level >= MEMBER_LEVEL;
  return isActive && isHighEnough ? (usernameOf(fields)?.toLowerCase() ?? null) : null;
}
