import { BatonError } from '../../domain/errors.js';
import { stateKey } from '../../domain/issue.js';
import { type Fields, fieldsOf, textOf } from '../../domain/json.js';
import type { IssueChange, IssueUpdate } from '../../domain/ports.js';
import type { HttpReading } from '../http/tracker-http.js';
import { afterComment } from '../update-issue.js';
import type { LinearApi } from './api.js';
import { nodesOf } from './api.js';
import { COMMENT_MUTATION, MOVE_MUTATION, MOVES_QUERY } from './queries.js';
import { isPutAway } from './read.js';

/** Comments first and moves last: the move may end the run. Nothing is sent when the state does not exist. */
export async function changeIssue(
  api: LinearApi,
  reading: HttpReading,
  issueId: string,
  { state, comment }: IssueChange,
): Promise<IssueUpdate> {
  const { issue } = await api.ask(reading, { query: MOVES_QUERY, variables: { id: issueId }, mayRefuse: true });
  const node = fieldsOf(issue);
  const id = textOf(node.id);
  const now = fieldsOf(node.state);
  const before = textOf(now.name);
  if (issue === null) throw refused(issueId, 'it does not exist any more');
  if (id === null || before === null) {
    throw new BatonError('tracker_response', `Linear answered without the id or the state of ${issueId}.`);
  }
  const shown = textOf(node.identifier) ?? issueId;
  if (isPutAway(node)) throw refused(shown, 'it is in the archive or in the trash');
  const target = state === undefined ? null : targetOf(state, node, shown);
  if (comment !== undefined) await commentOn(api, reading, { id, shown, comment });
  if (target === null || target.id === now.id) return { state: before };
  return { state: await afterComment(comment, () => move(api, reading, { id, shown, target })) };
}

interface State {
  readonly id: string;
  readonly name: string;
}

/** The state of that name in the issue's own team. */
function targetOf(state: string, node: Fields, shown: string): State {
  const team = fieldsOf(node.team);
  const states = nodesOf(team, 'states').flatMap((each) => {
    const { id, name } = fieldsOf(each);
    const [stateId, stateName] = [textOf(id), textOf(name)];
    return stateId === null || stateName === null ? [] : [{ id: stateId, name: stateName }];
  });
  const found = states.find(({ name }) => stateKey(name) === stateKey(state));
  if (found !== undefined) return found;
  const names = states.map(({ name }) => name).join(', ');
  const message = `"${state}" is no state of team ${textOf(team.key) ?? 'of this issue'}, so ${shown} stays where it is. Use one of: ${names}.`;
  throw new BatonError('tracker_refused', message);
}

async function commentOn(
  api: LinearApi,
  reading: HttpReading,
  { id, shown, comment }: { readonly id: string; readonly shown: string; readonly comment: string },
): Promise<void> {
  const data = await api.ask(reading, {
    query: COMMENT_MUTATION,
    variables: { id, body: comment },
    mayRefuse: true,
  });
  if (fieldsOf(data.commentCreate).success !== true) throw refused(shown, 'Linear did not take the comment');
}

async function move(
  api: LinearApi,
  reading: HttpReading,
  { id, shown, target }: { readonly id: string; readonly shown: string; readonly target: State },
): Promise<string> {
  const data = await api.ask(reading, {
    query: MOVE_MUTATION,
    variables: { id, stateId: target.id },
    mayRefuse: true,
  });
  const { success, issue } = fieldsOf(data.issueUpdate);
  if (success !== true) throw refused(shown, `Linear did not move it to "${target.name}"`);
  // A rule of the workspace may have moved it on.
  return textOf(fieldsOf(fieldsOf(issue).state).name) ?? target.name;
}

function refused(shown: string, why: string): BatonError {
  return new BatonError('tracker_refused', `${shown} cannot be changed: ${why}.`);
}
