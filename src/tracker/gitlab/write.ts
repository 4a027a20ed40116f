import { labelKey } from '../../domain/issue.js';
import { type IssueWriter, stateOf } from '../forge.js';
import type { LabelStates } from '../label-states.js';
import { type GitlabApi, readLabels } from './api.js';
import { readGitlabIssue } from './issue.js';
import { CLOSED } from './settings.js';

export async function writeComment(number: number, text: string, writer: IssueWriter, api: GitlabApi): Promise<void> {
  const body = withoutQuickActions(text);
  await writer.send({ method: 'POST', path: api.projectPath('issues', number, 'notes'), body: { body } });
}

/** One request changes labels and state, so that the issue is never seen between two states. A closed issue carries no label of a state. */
export async function moveIssue(
  number: number,
  target: string,
  writer: IssueWriter,
  { api, states }: { readonly api: GitlabApi; readonly states: LabelStates },
): Promise<void> {
  const { isOpen, labels } = writer.issue;
  const label = states.labelOf(target);
  const isTarget = (each: string) => label !== null && labelKey(each) === labelKey(label);
  const carried = states.among(labels);
  const added = label === null || carried.some(isTarget) ? null : await spellingOf(label, writer, api);
  const removed = carried.filter((each) => !isTarget(each));
  const event = target === CLOSED ? 'close' : 'reopen';
  const body = {
    ...(added === null ? {} : { add_labels: added }),
    ...(removed.length === 0 ? {} : { remove_labels: removed.join(',') }),
    ...(isOpen === (event === 'reopen') ? {} : { state_event: event }),
  };
  if (Object.keys(body).length === 0) return;
  const answer = await writer.send({ method: 'PUT', path: api.projectPath('issues', number), body });
  // GitLab ignores without an error the changes that a role does not allow.
  const now = stateOf(readGitlabIssue(answer.body), states);
  if (now !== target)
    throw writer.refused(
      `GitLab left it in "${now ?? 'an unknown state'}". The role of the token must be Planner or more`,
    );
}

/** The label as the project spells it: GitLab would create a second one that differs in case. */
async function spellingOf(label: string, { reading }: IssueWriter, api: GitlabApi): Promise<string> {
  const names = await readLabels(api, reading, [['search', label]]);
  const same = names.filter((name) => name !== null && labelKey(name) === labelKey(label));
  return same.find((name) => name === label) ?? same[0] ?? label;
}

/** A line such as `/close` or `/move group/other`. GitLab runs it when it is in a note or a description. */
const COMMAND = /(^|[\n\u0085\u2028\u2029])([^\S\n\u0085\u2028\u2029]*)(\/[a-z0-9_]+(?!\S))/gi;

/** The same text without commands. GitLab removes `\r` before it looks for commands, so none may stay inside of a word. */
export function withoutQuickActions(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(COMMAND, '$1$2\\$3');
}

/** Is there a command in a text, or in any text inside of a value? */
export function holdsQuickAction(value: unknown): boolean {
  if (typeof value === 'string') return value.replaceAll('\r', '').search(COMMAND) !== -1;
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some(holdsQuickAction);
}
