import type { TrackerConfig } from '../../domain/config.js';
import { fieldsOf, textOf } from '../../domain/fields.js';
import type { TrackerFacts } from '../../domain/ports.js';
import type { HttpReading } from '../http/tracker-http.js';
import type { LabelStates } from '../label-states.js';
import { missingLabels, namedLabels } from '../missing-labels.js';
import type { GitlabApi } from './api.js';
import { usernameOf } from './issue.js';
import type { Project, ProjectFacts } from './project.js';
import { readList } from './read-list.js';

interface InspectOrder {
  readonly api: GitlabApi;
  readonly reading: HttpReading;
  readonly project: Project;
  readonly states: LabelStates;
  readonly settings: Pick<TrackerConfig, 'requiredLabels'>;
}

export async function inspect({ api, reading, project, states, settings }: InspectOrder): Promise<TrackerFacts> {
  const user = await readOwnLogin(api, reading);
  const facts = await project.read(reading);
  return {
    user,
    target: facts.fullPath,
    states: states.names,
    warnings: [
      ...aboutProject(facts),
      ...(facts.hasIssues ? await aboutLabels({ api, reading, states, settings }, facts) : []),
    ],
  };
}

/** As whom the token is known; `null`: it may not ask. */
export async function readOwnLogin(api: GitlabApi, reading: HttpReading): Promise<string | null> {
  const { status, body } = await reading.get(api.path('user'), { accept: [403] });
  return status === 403 ? null : usernameOf(body);
}

/** Planner: below it, labels and states of others' issues cannot be changed. */
const CHANGER_LEVEL = 15;

function aboutProject({ fullPath, hasIssues, isArchived, level }: ProjectFacts): readonly string[] {
  return [
    ...(hasIssues ? [] : [`Issues are switched off in ${fullPath}: switch them on in its settings.`]),
    ...(isArchived ? [`${fullPath} is archived: its issues can be read, but not changed.`] : []),
    ...(level !== null && level < CHANGER_LEVEL
      ? [`The role of the token in ${fullPath} is below Planner: agents cannot move the issues of others.`]
      : []),
  ];
}

async function aboutLabels(
  { api, reading, states, settings }: Omit<InspectOrder, 'project'>,
  { fullPath }: ProjectFacts,
): Promise<readonly string[]> {
  const named = namedLabels(states, settings.requiredLabels);
  if (named.size === 0) return [];
  const labels = await readList(api, reading, {
    segments: ['labels'],
    read: (value) => textOf(fieldsOf(value).name),
    idOf: (name) => name,
  });
  return missingLabels(named, labels, fullPath);
}
