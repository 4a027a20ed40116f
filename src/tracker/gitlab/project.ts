import { BatonError } from '../../domain/errors.js';
import { fieldsOf, textOf } from '../../domain/fields.js';
import type { HttpReading } from '../http/tracker-http.js';
import { GITLAB, type GitlabApi } from './api.js';

export interface ProjectFacts {
  /** `null`: GitLab does not say. */
  readonly id: number | null;
  readonly fullPath: string;
  readonly hasIssues: boolean;
  readonly isArchived: boolean;
  /** The token's level of access; `null`: GitLab does not say, as to administrators. */
  readonly level: number | null;
}

const GOOD_FOR_MS = 10 * 60_000;

/** The project behind the issues: that it is there, has its name and has issues. That is remembered for ten minutes. */
export class Project {
  #facts: ProjectFacts | null = null;
  #readAtMs = 0;

  constructor(
    private readonly api: GitlabApi,
    private readonly nowMs: () => number,
  ) {}

  /** Throws `invalid_tracker_config` where it is not there, or not under this name any more. */
  async read(reading: HttpReading): Promise<ProjectFacts> {
    const { api } = this;
    const { status, body } = await reading.get(api.projectPath(), { isConditional: true, accept: [404] });
    if (status === 404) throw notFound(api);
    const facts = factsIn(body);
    if (!api.isNumbered && facts.fullPath.toLowerCase() !== api.project.toLowerCase()) throw renamed(api, facts);
    this.#facts = facts;
    this.#readAtMs = this.nowMs();
    return facts;
  }

  /** As it was ten minutes ago at most. */
  async facts(reading: HttpReading): Promise<ProjectFacts> {
    const isFresh = this.#facts !== null && this.nowMs() - this.#readAtMs < GOOD_FOR_MS;
    return isFresh && this.#facts ? this.#facts : this.read(reading);
  }

  /** GitLab shows no issues where a token may not see them. That none is there means something only while the project is there and has issues. */
  async proveGone(reading: HttpReading): Promise<void> {
    const { hasIssues, fullPath } = await this.read(reading);
    if (hasIssues) return;
    const message = `Issues are switched off in ${fullPath}. Switch them on in its settings, or choose another tracker.provider.project.`;
    throw new BatonError('invalid_tracker_config', message);
  }
}

function factsIn(body: unknown): ProjectFacts {
  const fields = fieldsOf(body);
  const fullPath = textOf(fields.path_with_namespace);
  if (fullPath === null) {
    const message = `${GITLAB} answered with something that is no project. Check tracker.provider.endpoint.`;
    throw new BatonError('tracker_response', message);
  }
  const { project_access: own, group_access: inherited } = fieldsOf(fields.permissions);
  const levels = [own, inherited].flatMap((access) => {
    const { access_level: level } = fieldsOf(access);
    return typeof level === 'number' ? [level] : [];
  });
  return {
    id: Number.isSafeInteger(fields.id) ? (fields.id as number) : null,
    fullPath,
    hasIssues: fields.issues_enabled !== false && fields.issues_access_level !== 'disabled',
    isArchived: fields.archived === true,
    level: levels.length === 0 ? null : Math.max(...levels),
  };
}

function notFound({ project }: GitlabApi): BatonError {
  const message = `${GITLAB} shows no project ${project} to this token. Check tracker.provider.project, and that the token has the scope api and a role in that project: what a token may not see does not exist for it.`;
  return new BatonError('invalid_tracker_config', message);
}

function renamed({ project }: GitlabApi, { fullPath }: ProjectFacts): BatonError {
  const message = `The project ${project} is called ${fullPath} now, and changes are not taken under its old name. Write \`project: ${fullPath}\` under tracker.provider.`;
  return new BatonError('invalid_tracker_config', message);
}
