import { BatonError } from '../../domain/errors.js';
import { stateKey } from '../../domain/issue.js';
import { type Fields, fieldsOf, textOf } from '../../domain/json.js';
import type { IssueChange, IssueUpdate } from '../../domain/ports.js';
import type { HttpReading } from '../http/tracker-http.js';
import { afterComment } from '../update-issue.js';
import { type LinearApi, nodesOf } from './api.js';
import { COMMENT_MUTATION, MOVE_MUTATION, MOVES_QUERY } from './queries.js';
import { isPutAway } from './read.js';

/**
 * Comments on an issue, moves it, or both. The move comes last, because it may end the run. An unknown state is rejected before
 * anything is written.
 */
export async function changeIssue(
  api: LinearApi,
  reading: HttpReading,
  issueId: string,
  { state, comment }: IssueChange,
): Promise<IssueUpdate> {
  const { issue } = await api.query(reading, { query: MOVES_QUERY, variables: { id: issueId }, mayRefuse: true });
  const node = fieldsOf(issue);
  const id = textOf(node.id);
  const current = fieldsOf(node.state);
  const before = textOf(current.name);
  if (issue === null) throw refusal(issueId, 'it does not exist any more');
  if (id === null || before === null) {
    throw new BatonError('tracker_response', `Linear answered without the id or the state of ${issueId}.`);
  }
  const identifier = textOf(node.identifier) ?? issueId;
  if (isPutAway(node)) throw refusal(identifier, 'it is in the archive or in the trash');
  const target = state === undefined ? null : targetState(state, node, identifier);
  if (comment !== undefined) await addComment(api, reading, { id, identifier, comment });
  if (target === null || target.id === current.id) return { state: before };
  return { state: await afterComment(comment, () => move(api, reading, { id, identifier, target })) };
}

interface State {
  readonly id: string;
  readonly name: string;
}

/** The state of that name in the team of the issue. */
function targetState(state: string, node: Fields, identifier: string): State {
  const team = fieldsOf(node.team);
  const states = nodesOf(team, 'states').flatMap((each) => {
    const { id, name } = fieldsOf(each);
    const [stateId, stateName] = [textOf(id), textOf(name)];
    return stateId === null || stateName === null ? [] : [{ id: stateId, name: stateName }];
  });
  const target = states.find(({ name }) => stateKey(name) === stateKey(state));
  if (target !== undefined) return target;
  const names = states.map(({ name }) => name).join(', ');
  const message = `"${state}" is not a state of team ${textOf(team.key) ?? 'of this issue'}, so ${identifier} was not moved. Use one of: ${names}.`;
  throw new BatonError('tracker_refused', message);
}

interface IssueRef {
  readonly id: string;
  readonly identifier: string;
}

async function addComment(
  api: LinearApi,
  reading: HttpReading,
  { id, identifier, comment }: IssueRef & { readonly comment: string },
): Promise<void> {
  const variables = { id, body: comment };
  const data = await api.query(reading, { query: COMMENT_MUTATION, variables, mayRefuse: true });
  if (fieldsOf(data.commentCreate).success !== true) throw refusal(identifier, 'Linear did not take the comment');
}

async function move(
  api: LinearApi,
  reading: HttpReading,
  { id, identifier, target }: IssueRef & { readonly target: State },
): Promise<string> {
  const variables = { id, stateId: target.id };
  const data = await api.query(reading, { query: MOVE_MUTATION, variables, mayRefuse: true });
  const { success, issue } = fieldsOf(data.issueUpdate);
  if (success !== true) throw refusal(identifier, `Linear did not move it to "${target.name}"`);
  // An automation of the workspace may have moved it further.
  return textOf(fieldsOf(fieldsOf(issue).state).name) ?? target.name;
}

function refusal(identifier: string, reason: string): BatonError {
  return new BatonError('tracker_refused', `${identifier} cannot be changed: ${reason}.`);
}
