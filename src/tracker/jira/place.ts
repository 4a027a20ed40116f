import { BatonError } from '../../domain/errors.js';
import { fieldsOf, textOf } from '../../domain/fields.js';
import { stateKey } from '../../domain/issue.js';
import { ID } from './issue-name.js';
import { type JiraCalls, misshapen } from './api.js';
import type { JiraSettings } from './settings.js';

export interface JiraProject {
  /** Stays the same when its key is changed. */
  readonly id: string;
  readonly key: string;
  readonly name: string;
  /** Customers write its issues. */
  readonly isServiceDesk: boolean;
}

export interface JiraStatus {
  readonly id: string;
  readonly name: string;
}

/** What is looked at, as Jira tells it. */
export interface Place {
  /** `null`: only a JQL says what is looked at. */
  readonly project: JiraProject | null;
  readonly statuses: readonly JiraStatus[];
}

const MAX_AGE_MS = 10 * 60_000;
/** A state that nobody knows is looked for again, but not at every poll. */
const MIN_AGE_MS = 60_000;

/** Keeps what is known of the project and its states: unknown, then known, read again when it is old or a state is missing in it. */
export class PlaceReader {
  #known: { readonly place: Place; readonly atMs: number } | null = null;

  constructor(
    private readonly settings: Pick<JiraSettings, 'project'>,
    private readonly nowMs: () => number,
  ) {}

  get states(): readonly string[] {
    return this.#known === null ? [] : namesOf(this.#known.place.statuses);
  }

  /** As far as it was read already. */
  get known(): Place | null {
    return this.#known?.place ?? null;
  }

  async read(calls: JiraCalls, needed: readonly string[] = []): Promise<Place> {
    const known = this.#known;
    const ageMs = known === null ? Number.POSITIVE_INFINITY : this.nowMs() - known.atMs;
    if (known !== null && ageMs < MAX_AGE_MS) {
      const isComplete = needed.every((state) => statusesNamed(known.place, state).length > 0);
      if (isComplete || ageMs < MIN_AGE_MS) return known.place;
    }
    return this.readAnew(calls);
  }

  forget(): void {
    this.#known = null;
  }

  async readAnew(calls: JiraCalls): Promise<Place> {
    const { project: key } = this.settings;
    const project = key === null ? null : await readProject(calls, key);
    const statuses = await readStatuses(calls, project);
    const place = { project, statuses };
    this.#known = { place, atMs: this.nowMs() };
    return place;
  }
}

export function statusesNamed({ statuses }: Place, state: string): readonly JiraStatus[] {
  return statuses.filter(({ name }) => stateKey(name) === stateKey(state));
}

/** Each name once: types of issues have states of their own with the same names. */
export function namesOf(statuses: readonly JiraStatus[]): readonly string[] {
  const names = new Map<string, string>();
  for (const { name } of statuses) if (!names.has(stateKey(name))) names.set(stateKey(name), name);
  return [...names.values()];
}

/** The error has the status 404 in its details. */
async function readProject(calls: JiraCalls, key: string): Promise<JiraProject> {
  const { status, body } = await calls.get(`/project/${encodeURIComponent(key)}`, [404]);
  if (status === 404) {
    await calls.whoAmI();
    const message = `Jira has no project ${key}, or the account of the token may not see it. Check tracker.provider.project and the permission Browse Projects.`;
    throw new BatonError('tracker_status', message, { status });
  }
  const { id, key: written, name, projectTypeKey } = fieldsOf(body);
  const number = textOf(id);
  const spelt = textOf(written);
  if (number === null || !ID.test(number) || spelt === null)
    throw misshapen(`the project ${key}`, 'has no id or no key');
  return { id: number, key: spelt, name: textOf(name) ?? spelt, isServiceDesk: projectTypeKey === 'service_desk' };
}

async function readStatuses(calls: JiraCalls, project: JiraProject | null): Promise<readonly JiraStatus[]> {
  const { body } = await calls.get(project === null ? '/status' : `/project/${project.id}/statuses`);
  if (!Array.isArray(body)) throw misshapen('the list of states', 'is no list');
  const lists: unknown[] = project === null ? [body] : body.map((type) => fieldsOf(type).statuses);
  const found = new Map<string, JiraStatus>();
  for (const list of lists) {
    if (!Array.isArray(list)) throw misshapen('the list of states', 'lacks those of a type of issues');
    for (const each of list) {
      const { id, name } = fieldsOf(each);
      const number = textOf(id);
      const spelt = textOf(name);
      if (number === null || !ID.test(number) || spelt === null) throw misshapen('a state', 'has no id or no name');
      found.set(number, { id: number, name: spelt });
    }
  }
  if (found.size === 0) throw misshapen('the list of states', 'is empty');
  return [...found.values()];
}
