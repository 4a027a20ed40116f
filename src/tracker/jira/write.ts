import { BatonError } from '../../domain/errors.js';
import { stateKey } from '../../domain/issue.js';
import { fieldsOf, listOf, textOf } from '../../domain/json.js';
import type { IssueChange, IssueUpdate } from '../../domain/ports.js';
import type { HttpAnswer } from '../http/tracker-http.js';
import { afterComment } from '../update-issue.js';
import { ISSUE, type JiraCalls, misshapen, namesOf, type Place } from './api.js';
import { markdownToAdf } from './markdown-to-adf.js';
import { projectIdOf } from './read.js';

/** With these Jira says no to what was asked, not to who asked. */
const REFUSALS = [400, 404, 409, 413, 422];

/**
 * Comments on an issue, moves it, or both; the move comes last, since it may end the run. Where it cannot go is found out before anything is written.
 */
export async function changeIssue(
  calls: JiraCalls,
  place: Place,
  issueId: string,
  { state, comment }: IssueChange,
): Promise<IssueUpdate> {
  if (!ISSUE.test(issueId)) throw refused(`${JSON.stringify(issueId)} is no issue of Jira`, '');
  const path = `/issue/${issueId}`;
  const { key, state: now } = await readIssue(calls, place, issueId);
  const isMove = state !== undefined && stateKey(state) !== stateKey(now);
  const transition = isMove ? await transitionTo(calls, place, { path, key, now, wanted: state }) : null;
  if (comment !== undefined) {
    const answer = await calls.post(`${path}/comment`, { body: markdownToAdf(comment) }, REFUSALS);
    if (isRefusal(answer)) throw refused(`Jira did not take the comment on ${key}`, calls.said(answer));
  }
  if (transition === null) return { state: now };
  await afterComment(comment, async () => {
    const answer = await calls.post(`${path}/transitions`, { transition: { id: transition.id } }, REFUSALS);
    const what = `Jira did not move ${key} from "${now}" to "${transition.to}"`;
    if (isRefusal(answer)) throw refused(what, calls.said(answer));
  });
  return { state: transition.to };
}

interface Found {
  readonly key: string;
  readonly state: string;
}

/** Throws `tracker_refused` for one that is gone, or not in the project any more. */
async function readIssue(calls: JiraCalls, { project }: Place, issueId: string): Promise<Found> {
  const answer = await calls.get(`/issue/${issueId}?fields=status,project`, [404]);
  if (answer.status === 404) {
    await calls.whoAmI();
    throw refused(`Issue ${issueId} cannot be changed: it does not exist any more, or may not be seen`, '');
  }
  const { key, fields } = fieldsOf(answer.body);
  const found = { key: textOf(key), state: textOf(fieldsOf(fieldsOf(fields).status).name) };
  if (found.key === null || found.state === null) throw misshapen(`issue ${issueId}`, 'has no key or no status');
  if (project !== null && projectIdOf(answer.body) !== project.id)
    throw refused(`${found.key} cannot be changed: it is not in project ${project.key} any more`, '');
  return { key: found.key, state: found.state };
}

interface Move {
  readonly path: string;
  readonly key: string;
  readonly now: string;
  readonly wanted: string;
}

async function transitionTo(
  calls: JiraCalls,
  { statuses }: Place,
  { path, key, now, wanted }: Move,
): Promise<{ readonly id: string; readonly to: string }> {
  const { transitions } = fieldsOf((await calls.get(`${path}/transitions`)).body);
  if (!Array.isArray(transitions)) throw misshapen(`the transitions of ${key}`, 'are no list');
  const open = listOf(transitions).flatMap((each) => {
    const { id, to, isAvailable, hasScreen } = fieldsOf(each);
    const found = { id: textOf(id), to: textOf(fieldsOf(to).name) };
    if (found.id === null || found.to === null || isAvailable === false) return [];
    return [{ id: found.id, to: found.to, hasScreen: hasScreen === true }];
  });
  const fitting = open.filter(({ to }) => stateKey(to) === stateKey(wanted));
  // A screen may demand what we cannot fill in.
  const chosen = fitting.find(({ hasScreen }) => !hasScreen) ?? fitting[0];
  if (chosen !== undefined) return chosen;
  const names = namesOf(statuses);
  if (!names.some((name) => stateKey(name) === stateKey(wanted)))
    throw refused(`"${wanted}" is no state here`, `Use one of: ${names.join(', ')}.`);
  const reachable = [...new Set(open.map(({ to }) => to))];
  const advice =
    reachable.length === 0 ? 'None can be reached from there.' : `From there it can go to: ${reachable.join(', ')}.`;
  throw refused(`The workflow of ${key} has no transition from "${now}" to "${wanted}"`, advice);
}

function isRefusal({ status }: Pick<HttpAnswer, 'status'>): boolean {
  return status >= 400;
}

function refused(what: string, why: string): BatonError {
  return new BatonError('tracker_refused', why === '' ? `${what}.` : `${what}. ${why}`);
}
