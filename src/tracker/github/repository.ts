import type { TrackerConfig } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import { fieldsOf, textOf } from '../../domain/fields.js';
import type { HttpReading } from '../http/tracker-http.js';
import { GITHUB, type GithubApi } from './api.js';

export interface RepositoryFacts {
  readonly fullName: string;
  readonly isPublic: boolean;
  readonly hasIssues: boolean;
  readonly isArchived: boolean;
  /** The token's owner may change issues there; `null`: GitHub does not say. */
  readonly mayChange: boolean | null;
}

/** What keeps strangers out. */
type Door = Pick<TrackerConfig, 'requiredLabels' | 'trust'>;

const GOOD_FOR_MS = 10 * 60_000;

/**
 * The repository behind the issues: that it is there, has its name, and is not open to the whole world by mistake. That it may be read from is remembered for
 * ten minutes, and asked again at once when labels or trust have changed.
 */
export class Repository {
  #admitted: { readonly by: string; readonly atMs: number } | null = null;

  constructor(
    private readonly api: GithubApi,
    private readonly nowMs: () => number,
  ) {}

  /** Throws `invalid_tracker_config` where it is not there, or not under this name any more. */
  async read(reading: HttpReading): Promise<RepositoryFacts> {
    const { api } = this;
    const { status, body } = await reading.get(api.repoPath(), { isConditional: true, accept: [404] });
    if (status === 404) throw notFound(api);
    const facts = factsIn(body);
    if (facts.fullName.toLowerCase() !== api.fullName.toLowerCase()) throw renamed(api, facts);
    return facts;
  }

  /** Throws `invalid_tracker_config` where strangers could set agents to work, unless somebody decided so. */
  async admit(reading: HttpReading, door: Door): Promise<void> {
    const { nowMs } = this;
    if (this.#admitted?.by !== keyOf(door) || nowMs() - this.#admitted.atMs >= GOOD_FOR_MS)
      await this.admitNow(reading, door);
  }

  /** The same, whatever is remembered. */
  async admitNow(reading: HttpReading, door: Door): Promise<RepositoryFacts> {
    const { nowMs } = this;
    const facts = await this.read(reading);
    if (facts.isPublic && door.requiredLabels.length === 0 && door.trust === null) throw openToAll(facts);
    this.#admitted = { by: keyOf(door), atMs: nowMs() };
    return facts;
  }

  /** GitHub says "not found" of whatever a token may not see. An issue is gone only while its repository is there. */
  async proveGone(reading: HttpReading): Promise<void> {
    const { hasIssues, fullName } = await this.read(reading);
    if (hasIssues) return;
    const message = `Issues are switched off in ${fullName}. Switch them on in its settings, or choose another tracker.provider.repo.`;
    throw new BatonError('invalid_tracker_config', message);
  }
}

function keyOf({ requiredLabels, trust }: Door): string {
  return JSON.stringify([requiredLabels, trust]);
}

function factsIn(body: unknown): RepositoryFacts {
  const { full_name, private: isPrivate, visibility, has_issues, archived, permissions } = fieldsOf(body);
  const fullName = textOf(full_name);
  if (fullName === null || typeof isPrivate !== 'boolean') {
    const message = `${GITHUB} answered with something that is no repository. Check tracker.provider.endpoint.`;
    throw new BatonError('tracker_response', message);
  }
  const { push, triage } = fieldsOf(permissions);
  return {
    fullName,
    isPublic: !isPrivate || visibility === 'public',
    hasIssues: has_issues !== false,
    isArchived: archived === true,
    mayChange: typeof push === 'boolean' ? push || triage === true : null,
  };
}

function notFound({ fullName }: GithubApi): BatonError {
  const message = `${GITHUB} shows no repository ${fullName} to this token. Check tracker.provider.repo, and that the token may read that repository and its issues: what a token may not see does not exist for it.`;
  return new BatonError('invalid_tracker_config', message);
}

function renamed({ fullName }: GithubApi, facts: RepositoryFacts): BatonError {
  const message = `The repository ${fullName} is called ${facts.fullName} now, and changes are not taken under its old name. Write \`repo: ${facts.fullName}\` under tracker.provider.`;
  return new BatonError('invalid_tracker_config', message);
}

function openToAll({ fullName }: RepositoryFacts): BatonError {
  const message = `${fullName} is public: anybody can write issues there. Set tracker.required_labels to a label that only members can give, or write tracker.trust out (members, anyone, or a list of logins).`;
  return new BatonError('invalid_tracker_config', message);
}
