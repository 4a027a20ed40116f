import { BatonError } from '../../domain/errors.js';
import { stateKey } from '../../domain/issue.js';
import { fieldsOf, textOf } from '../../domain/json.js';
import { invalidAnswer, type JiraCalls, NUMERIC_ID } from './api.js';
import type { JiraSettings } from './settings.js';

/** The configured project and the states of its issues. */
export interface ProjectFacts {
  /** `null` when only a JQL selects issues. */
  readonly project: JiraProject | null;
  readonly statuses: readonly JiraStatus[];
}

export interface JiraProject {
  /** Stays the same when the key of the project changes. */
  readonly id: string;
  readonly key: string;
  readonly name: string;
  /** Customers can create issues here. */
  readonly isServiceDesk: boolean;
}

interface JiraStatus {
  readonly id: string;
  readonly name: string;
}

const MAX_AGE_MS = 10 * 60_000;
/** An unknown state makes the cache reload early, but not at every poll. */
const MIN_AGE_MS = 60_000;

/** Caches the project and its states. It is empty before the first read, then reloads when it is old or lacks a state. */
export class ProjectCache {
  #cached: { readonly facts: ProjectFacts; readonly atMs: number } | null = null;

  constructor(
    private readonly settings: Pick<JiraSettings, 'project'>,
    private readonly nowMs: () => number,
  ) {}

  get states(): readonly string[] {
    return this.#cached === null ? [] : namesOf(this.#cached.facts.statuses);
  }

  /** Whatever its age; `null` before the first read. */
  get cached(): ProjectFacts | null {
    return this.#cached?.facts ?? null;
  }

  /** `needed`: states that the facts should know. */
  async read(calls: JiraCalls, needed: readonly string[] = []): Promise<ProjectFacts> {
    if (this.#cached === null) return this.reload(calls);
    const { facts, atMs } = this.#cached;
    const ageMs = this.nowMs() - atMs;
    const isComplete = needed.every((state) => statusesNamed(facts, state).length > 0);
    return ageMs < MIN_AGE_MS || (ageMs < MAX_AGE_MS && isComplete) ? facts : this.reload(calls);
  }

  clear(): void {
    this.#cached = null;
  }

  async reload(calls: JiraCalls): Promise<ProjectFacts> {
    const { project: key } = this.settings;
    const project = key === null ? null : await readProject(calls, key);
    const facts = { project, statuses: await readStatuses(calls, project) };
    this.#cached = { facts, atMs: this.nowMs() };
    return facts;
  }
}

export function statusesNamed({ statuses }: ProjectFacts, state: string): readonly JiraStatus[] {
  return statuses.filter(({ name }) => stateKey(name) === stateKey(state));
}

/** Each name once: issue types have states of their own with the same names. */
export function namesOf(statuses: readonly JiraStatus[]): readonly string[] {
  const names = new Map<string, string>();
  for (const { name } of statuses) if (!names.has(stateKey(name))) names.set(stateKey(name), name);
  return [...names.values()];
}

/** The error for a missing project has the status 404 in its details. */
async function readProject(calls: JiraCalls, key: string): Promise<JiraProject> {
  const { status, body } = await calls.get(`/project/${encodeURIComponent(key)}`, [404]);
  if (status === 404) {
    await calls.account();
    const message = `Jira has no project ${key}, or the account of the token may not see it. Check tracker.provider.project and the permission Browse Projects.`;
    throw new BatonError('tracker_status', message, { status });
  }
  const { id, key: currentKey, name, projectTypeKey } = fieldsOf(body);
  const projectId = textOf(id);
  const projectKey = textOf(currentKey);
  if (projectId === null || !NUMERIC_ID.test(projectId) || projectKey === null)
    throw invalidAnswer(`the project ${key}`, 'has no id or no key');
  const isServiceDesk = projectTypeKey === 'service_desk';
  return { id: projectId, key: projectKey, name: textOf(name) ?? projectKey, isServiceDesk };
}

async function readStatuses(calls: JiraCalls, project: JiraProject | null): Promise<readonly JiraStatus[]> {
  const { body } = await calls.get(project === null ? '/status' : `/project/${project.id}/statuses`);
  if (!Array.isArray(body)) throw invalidAnswer('the list of states', 'is not a list');
  const lists: unknown[] = project === null ? [body] : body.map((type) => fieldsOf(type).statuses);
  const statuses = new Map<string, JiraStatus>();
  for (const list of lists) {
    if (!Array.isArray(list)) throw invalidAnswer('the list of states', 'lacks those of an issue type');
    for (const each of list) {
      const id = textOf(fieldsOf(each).id);
      const name = textOf(fieldsOf(each).name);
      if (id === null || !NUMERIC_ID.test(id) || name === null) throw invalidAnswer('a state', 'has no id or no name');
      statuses.set(id, { id, name });
    }
  }
  if (statuses.size === 0) throw invalidAnswer('the list of states', 'is empty');
  return [...statuses.values()];
}
