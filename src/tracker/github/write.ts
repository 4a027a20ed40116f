import { labelKey } from '../../domain/issue.js';
import { fieldsOf } from '../../domain/json.js';
import type { IssueWriter } from '../forge.js';
import type { LabelStates } from '../label-states.js';
import type { GithubApi } from './api.js';
import { CLOSED } from './settings.js';

export async function writeComment(number: number, body: string, writer: IssueWriter, api: GithubApi): Promise<void> {
  await writer.send({ method: 'POST', path: api.repoPath('issues', number, 'comments'), body: { body } });
}

/**
 * Labels are added and removed one by one, so that labels which others add meanwhile stay. The order lets the issue change its state once: the labels of a closed issue
 * mean nothing, and an open one gets its new label before it loses the old one.
 */
export async function moveIssue(
  number: number,
  target: string,
  writer: IssueWriter,
  { api, states }: { readonly api: GithubApi; readonly states: LabelStates },
): Promise<void> {
  const path = (...segments: readonly string[]) => api.repoPath('issues', number, ...segments);
  const { isOpen, labels } = writer.issue;
  const label = states.labelOf(target);
  const isTarget = (each: string) => label !== null && labelKey(each) === labelKey(label);
  const carried = states.among(labels);
  if (target === CLOSED && isOpen) await setState(writer, path(), { state: 'closed', state_reason: 'completed' });
  if (label !== null && !carried.some(isTarget))
    await writer.send({ method: 'POST', path: path('labels'), body: { labels: [label] } });
  for (const old of carried) {
    if (!isTarget(old)) await writer.send({ method: 'DELETE', path: path('labels', old), accept: [404] });
  }
  if (target !== CLOSED && !isOpen) await setState(writer, path(), { state: 'open' });
}

async function setState(
  writer: IssueWriter,
  path: string,
  body: { readonly state: string; readonly state_reason?: string },
): Promise<void> {
  const answer = await writer.send({ method: 'PATCH', path, body });
  if (fieldsOf(answer.body).state === body.state) return;
  throw writer.refused(`GitHub did not make it ${body.state}, and does not say why`);
}
