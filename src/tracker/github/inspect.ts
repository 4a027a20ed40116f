import type { TrackerConfig } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import { fieldsOf, textOf } from '../../domain/fields.js';
import type { TrackerFacts } from '../../domain/ports.js';
import type { HttpReading } from '../http/tracker-http.js';
import type { LabelStates } from '../label-states.js';
import { missingLabels, namedLabels } from '../missing-labels.js';
import type { GithubApi } from './api.js';
import { loginOf } from './issue.js';
import { readList } from './read-list.js';
import type { Repository, RepositoryFacts } from './repository.js';

interface InspectOrder {
  readonly api: GithubApi;
  readonly reading: HttpReading;
  readonly repository: Repository;
  readonly states: LabelStates;
  readonly settings: TrackerConfig;
}

export async function inspect({ api, reading, repository, states, settings }: InspectOrder): Promise<TrackerFacts> {
  const user = await readOwnLogin(api, reading);
  const facts = await repository.admitNow(reading, settings);
  return {
    user,
    target: facts.fullName,
    states: states.names,
    warnings: [
      ...aboutRepository(facts),
      ...(facts.hasIssues ? await aboutLabels({ api, reading, states, settings }) : []),
    ],
  };
}

/** As whom the token is known; `null`: as an app, which is nobody. */
export async function readOwnLogin(api: GithubApi, reading: HttpReading): Promise<string | null> {
  const answer = await reading.get(api.path('user')).catch((error: unknown) => {
    if (error instanceof BatonError && error.code === 'tracker_auth' && error.details.status === 403) return null;
    throw error;
  });
  const login = answer === null ? null : loginOf(answer.body);
  if (answer === null || login !== null) return login;
  const message = 'GitHub told nothing of the owner of the token. Check tracker.provider.endpoint.';
  throw new BatonError('tracker_response', message);
}

function aboutRepository({ fullName, hasIssues, isArchived, mayChange }: RepositoryFacts): readonly string[] {
  return [
    ...(hasIssues ? [] : [`Issues are switched off in ${fullName}: switch them on in its settings.`]),
    ...(isArchived ? [`${fullName} is archived: its issues can be read, but not changed.`] : []),
    ...(mayChange === false
      ? [
          `The token may read the issues of ${fullName}, but not label or close those of others: agents cannot move them.`,
        ]
      : []),
  ];
}

async function aboutLabels(order: Pick<InspectOrder, 'api' | 'reading' | 'states' | 'settings'>) {
  const { api, reading, states, settings } = order;
  const named = namedLabels(states, settings.requiredLabels);
  if (named.size === 0) return [];
  const labels = await readList(api, reading, {
    segments: ['labels'],
    read: (value) => textOf(fieldsOf(value).name),
    idOf: (name) => name,
  });
  return missingLabels(named, labels, api.fullName);
}
