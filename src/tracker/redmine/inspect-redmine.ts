import { BatonError } from '../../domain/errors.js';
import { fieldsOf, listOf, textOf } from '../../domain/fields.js';
import type { TrackerFacts } from '../../domain/ports.js';
import type { HttpReading } from '../http/tracker-http.js';
import { type BoardFacts, type Me, unreadable } from './board-facts.js';
import { issuesByNumber, type Scope } from './read.js';

export interface InspectOptions {
  readonly reading: HttpReading;
  readonly scope: Scope;
  readonly facts: BoardFacts;
  readonly base: URL;
  readonly tokenFrom: string;
  readonly requiredLabels: readonly string[];
}

/** A good key, a project that it can see, and what there is to say about both. */
export async function inspectRedmine(options: InspectOptions): Promise<TrackerFacts> {
  const { reading, scope, facts, base } = options;
  const { me, statuses } = await facts.fresh(reading);
  const project = await readProject(me, options);
  // Whether issues can be read at all: the module may be off, and a right may be missing.
  await issuesByNumber(reading, scope, [1]);
  const admin = `The key is that of ${me.login}, an administrator: it can change every project. Use an account that is a member of this one only.`;
  const closed = `The project "${scope.project}" is closed: its issues can be read and not changed. Reopen it.`;
  return {
    user: me.login,
    target: `project ${project.name} (${scope.project}${scope.withSubprojects ? ' and its subprojects' : ''}) at ${base.host}`,
    states: statuses.map(({ name }) => name),
    warnings: [...(me.isAdmin ? [admin] : []), ...(project.isClosed ? [closed] : []), ...(await aboutLabels(options))],
  };
}

/** Redmine has no labels: categories and trackers are what it can be asked for, values of list fields it does not tell. */
async function aboutLabels({ reading, scope, requiredLabels }: InspectOptions): Promise<readonly string[]> {
  if (requiredLabels.length === 0) return [];
  const project = `/projects/${encodeURIComponent(scope.project)}`;
  const lists = [
    [`${project}/issue_categories.json`, 'issue_categories'],
    ['/trackers.json', 'trackers'],
  ] as const;
  const names = new Set<string>();
  for (const [path, key] of lists) {
    const { body, status } = await reading.get(path, { accept: [403, 404] });
    // Not told to this account: then nothing can be said about it.
    if (status !== 200) return [];
    for (const each of listOf(fieldsOf(body)[key])) names.add(textOf(fieldsOf(each).name)?.trim().toLowerCase() ?? '');
  }
  return requiredLabels
    .filter((label) => !names.has(label))
    .map(
      (label) =>
        `The project "${scope.project}" has no category "${label}", which tracker.required_labels names. Make one in the project's settings, unless it is a value of a list field.`,
    );
}

const CLOSED = 5;

async function readProject(me: Me, { reading, scope, tokenFrom }: InspectOptions) {
  const path = `/projects/${encodeURIComponent(scope.project)}.json`;
  const { body, status } = await reading.get(path, { accept: [403, 404] });
  if (status === 404) {
    const message = `Redmine knows no project "${scope.project}". Write its identifier, as in the address of its page, into tracker.provider.project.`;
    throw new BatonError('invalid_tracker_config', message);
  }
  if (status === 403) {
    const message = `Redmine does not show the project "${scope.project}" to ${me.login}, whose key is in ${tokenFrom} (403). Make ${me.login} a member of it, or fix tracker.provider.project; it may be archived, too.`;
    throw new BatonError('tracker_auth', message, { status });
  }
  const project = fieldsOf(fieldsOf(body).project);
  const name = textOf(project.name);
  if (name === null) throw unreadable(path, 'without the project');
  return { name, isClosed: project.status === CLOSED };
}
