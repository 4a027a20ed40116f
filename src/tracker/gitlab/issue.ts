import { fieldsOf, foundIn, listOf, textOf } from '../../domain/json.js';
import { type ForgeIssue, IssueNumbers, isNumber, namesOfLabels } from '../forge-issue.js';

export const NUMBERS = new IssueNumbers('GL-');

/** GitLab lists them like issues, but they are not work. */
const NO_WORK = new Set(['test_case', 'requirement']);

export function readGitlabIssue(value: unknown): ForgeIssue {
  const fields = fieldsOf(value);
  const { iid, state, assignees, assignee } = fields;
  const people = listOf(assignees).length > 0 ? listOf(assignees) : [assignee];
  return {
    number: isNumber(iid) ? iid : null,
    isWork: !NO_WORK.has(String(fields.issue_type).toLowerCase()),
    isOpen: state === 'opened' ? true : state === 'closed' ? false : null,
    isLocked: fields.discussion_locked === true,
    labels: namesOfLabels(fields.labels),
    assignees: foundIn(people, usernameOf),
    author: usernameOf(fields.author),
    createdAt: textOf(fields.created_at),
    updatedAt: textOf(fields.updated_at),
    title: fields.title,
    description: fields.description,
    url: fields.web_url,
    nativeRef: { reference: textOf(fieldsOf(fields.references).full) },
  };
}

export function usernameOf(user: unknown): string | null {
  return textOf(fieldsOf(user).username);
}
