import { type Fields, fieldsOf, foundIn, listOf, textOf } from '../../domain/json.js';
import { type ForgeIssue, IssueNumbers, isNumber, namesOfLabels } from '../forge-issue.js';
import type { Writer } from '../trust.js';

export const NUMBERS = new IssueNumbers('GH-');

export interface GithubIssue extends ForgeIssue {
  readonly nodeId: string | null;
  readonly isAuthorMember: boolean;
  /** How many other issues it waits or waited for. */
  readonly blockers: number;
  /** How many of them are open. */
  readonly openBlockers: number;
  readonly comments: number;
}

export function readGithubIssue(value: unknown): GithubIssue {
  const fields = fieldsOf(value);
  const { number, state, assignees, assignee, pull_request: pullRequest } = fields;
  const { total_blocked_by: total, blocked_by: open } = fieldsOf(fields.issue_dependencies_summary);
  const people = listOf(assignees).length > 0 ? listOf(assignees) : [assignee];
  const { login, isMember } = writerOf(fields);
  return {
    number: isNumber(number) ? number : null,
    isWork: pullRequest === undefined || pullRequest === null,
    isOpen: state === 'open' ? true : state === 'closed' ? false : null,
    isLocked: fields.locked === true,
    labels: namesOfLabels(fields.labels),
    assignees: foundIn(people, loginOf),
    author: login,
    createdAt: textOf(fields.created_at),
    updatedAt: textOf(fields.updated_at),
    title: fields.title,
    description: fields.body,
    url: fields.html_url,
    nativeRef: { node_id: textOf(fields.node_id) },
    nodeId: textOf(fields.node_id),
    isAuthorMember: isMember,
    blockers: Math.max(count(total), count(open)),
    openBlockers: count(open),
    comments: count(fields.comments),
  };
}

const MEMBERS = new Set(['OWNER', 'MEMBER', 'COLLABORATOR']);

/** The author of an issue or a comment. A contributor is no member. */
export function writerOf({ user, author_association: association }: Fields): Writer & { readonly isMember: boolean } {
  return { login: loginOf(user), isMember: typeof association === 'string' && MEMBERS.has(association) };
}

export function loginOf(user: unknown): string | null {
  return textOf(fieldsOf(user).login);
}

function count(value: unknown): number {
  return isNumber(value) ? value : 0;
}
