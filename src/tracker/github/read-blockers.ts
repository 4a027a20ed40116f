import { BatonError } from '../../domain/errors.js';
import { fieldsOf, textOf } from '../../domain/fields.js';
import type { Blocker } from '../../domain/issue.js';
import type { HttpReading } from '../http/tracker-http.js';
import type { LabelStates } from '../label-states.js';
import type { GithubApi } from './api.js';
import { type GithubIssue, readGithubIssue } from './issue.js';
import { identifierOf } from './issue-number.js';
import { CLOSED, OPEN } from './own-states.js';
import { readList } from './read-list.js';

/** What an issue is blocked by. GitHub leaves out what the token may not see, and counts it all the same. */
export async function readBlockers(
  { number, openBlockers }: Pick<GithubIssue, 'number' | 'openBlockers'>,
  api: GithubApi,
  reading: HttpReading,
  states: LabelStates,
): Promise<readonly Blocker[]> {
  if (number === null) return [];
  const seen = await readSeen(number, api, reading, states);
  const hidden = openBlockers - seen.filter(({ state }) => state !== CLOSED).length;
  if (hidden <= 0) return seen;
  const identifier =
    hidden === 1 ? 'an issue that the token does not see' : `${hidden} issues that the token does not see`;
  return [...seen, { id: null, identifier, state: null }];
}

async function readSeen(
  number: number,
  api: GithubApi,
  reading: HttpReading,
  states: LabelStates,
): Promise<readonly Blocker[]> {
  try {
    return await readList(api, reading, {
      segments: ['issues', number, 'dependencies', 'blocked_by'],
      read: (value) => blockerIn(value, api, states),
      idOf: ({ id }) => id,
    });
  } catch (error) {
    if (error instanceof BatonError && error.code === 'tracker_status' && error.details.status === 404) return [];
    throw error;
  }
}

function blockerIn(value: unknown, { fullName }: GithubApi, states: LabelStates): Blocker {
  const { number, isOpen, labels } = readGithubIssue(value);
  if (number === null) {
    const message = 'GitHub named a blocker without a number. Check tracker.provider.endpoint.';
    throw new BatonError('tracker_response', message);
  }
  const [, repo = fullName] = /\/repos\/([^/]+\/[^/]+)$/.exec(textOf(fieldsOf(value).repository_url) ?? '') ?? [];
  if (repo.toLowerCase() === fullName.toLowerCase()) {
    const state = isOpen === null ? null : states.of(isOpen, labels).state;
    return { id: String(number), identifier: identifierOf(number), state };
  }
  // Labels of another repository are nobody's states here.
  const name = `${repo}#${number}`;
  return { id: name, identifier: name, state: isOpen === null ? null : isOpen ? OPEN : CLOSED };
}
