import { BatonError } from '../../domain/errors.js';
import { stateKey } from '../../domain/issue.js';
import { fieldsOf, listOf, textOf } from '../../domain/json.js';
import type { IssueChange, IssueUpdate } from '../../domain/ports.js';
import type { HttpAnswer } from '../http/tracker-http.js';
import { afterComment } from '../update-issue.js';
import { ISSUE_REF, invalidAnswer, type JiraCalls } from './api.js';
import { markdownToAdf } from './markdown-to-adf.js';
import { namesOf, type ProjectFacts } from './project.js';
import { projectIdOf } from './read.js';

/** Statuses that reject the request itself, not its sender. */
const REFUSALS = [400, 404, 409, 413, 422];

/**
 * Comments on an issue, moves it, or both. The move comes last, because it may end the run. A move without a transition is
 * rejected before anything is written.
 */
export async function changeIssue(
  calls: JiraCalls,
  facts: ProjectFacts,
  issueId: string,
  { state, comment }: IssueChange,
): Promise<IssueUpdate> {
  if (!ISSUE_REF.test(issueId)) throw refusal(`${JSON.stringify(issueId)} is not an issue of Jira`, '');
  const path = `/issue/${issueId}`;
  const { key, state: current } = await readIssue(calls, facts, issueId);
  const isMove = state !== undefined && stateKey(state) !== stateKey(current);
  const transition = isMove ? await findTransition(calls, facts, { path, key, current, wanted: state }) : null;
  if (comment !== undefined) {
    const answer = await calls.post(`${path}/comment`, { body: markdownToAdf(comment) }, { accept: REFUSALS });
    if (isRefusal(answer)) throw refusal(`Jira did not take the comment on ${key}`, calls.reasonIn(answer));
  }
  if (transition === null) return { state: current };
  await afterComment(comment, async () => {
    const answer = await calls.post(`${path}/transitions`, { transition: { id: transition.id } }, { accept: REFUSALS });
    const problem = `Jira did not move ${key} from "${current}" to "${transition.to}"`;
    if (isRefusal(answer)) throw refusal(problem, calls.reasonIn(answer));
  });
  return { state: transition.to };
}

/** Throws `tracker_refused` for an issue that is gone or has left the project. */
async function readIssue(
  calls: JiraCalls,
  { project }: ProjectFacts,
  issueId: string,
): Promise<{ readonly key: string; readonly state: string }> {
  const answer = await calls.get(`/issue/${issueId}?fields=status,project`, [404]);
  if (answer.status === 404) {
    await calls.account();
    throw refusal(`Issue ${issueId} cannot be changed: it does not exist any more, or may not be seen`, '');
  }
  const { key: writtenKey, fields } = fieldsOf(answer.body);
  const key = textOf(writtenKey);
  const state = textOf(fieldsOf(fieldsOf(fields).status).name);
  if (key === null || state === null) throw invalidAnswer(`issue ${issueId}`, 'has no key or no status');
  if (project !== null && projectIdOf(answer.body) !== project.id)
    throw refusal(`${key} cannot be changed: it is not in project ${project.key} any more`, '');
  return { key, state };
}

interface Move {
  readonly path: string;
  readonly key: string;
  readonly current: string;
  readonly wanted: string;
}

async function findTransition(
  calls: JiraCalls,
  { statuses }: ProjectFacts,
  { path, key, current, wanted }: Move,
): Promise<{ readonly id: string; readonly to: string }> {
  const { transitions } = fieldsOf((await calls.get(`${path}/transitions`)).body);
  if (!Array.isArray(transitions)) throw invalidAnswer(`the list of transitions of ${key}`, 'is not a list');
  const open = listOf(transitions).flatMap((each) => {
    const { id, to, isAvailable, hasScreen } = fieldsOf(each);
    const [transitionId, target] = [textOf(id), textOf(fieldsOf(to).name)];
    if (transitionId === null || target === null || isAvailable === false) return [];
    return [{ id: transitionId, to: target, hasScreen: hasScreen === true }];
  });
  const matching = open.filter(({ to }) => stateKey(to) === stateKey(wanted));
  // A screen may have required fields, which Baton cannot fill in.
  const chosen = matching.find(({ hasScreen }) => !hasScreen) ?? matching[0];
  if (chosen !== undefined) return chosen;
  const names = namesOf(statuses);
  if (!names.some((name) => stateKey(name) === stateKey(wanted)))
    throw refusal(`"${wanted}" is not a state here`, `Use one of: ${names.join(', ')}.`);
  const reachable = [...new Set(open.map(({ to }) => to))];
  const advice =
    reachable.length === 0
      ? 'It can go to no other state from there.'
      : `From there it can go to: ${reachable.join(', ')}.`;
  throw refusal(`The workflow of ${key} has no transition from "${current}" to "${wanted}"`, advice);
}

function isRefusal({ status }: Pick<HttpAnswer, 'status'>): boolean {
  return status >= 400;
}

function refusal(problem: string, detail: string): BatonError {
  return new BatonError('tracker_refused', detail === '' ? `${problem}.` : `${problem}. ${detail}`);
}
