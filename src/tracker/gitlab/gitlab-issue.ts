import { type Fields, fieldsOf, listOf, textOf } from '../../domain/fields.js';

/** An issue as GitLab tells it, as far as it can be read. What is wrong with it comes out when it is normalised. */
export interface GitlabIssue {
  /** Its number in the project; `null`: this is no issue at all. */
  readonly iid: number | null;
  /** `null`: neither opened nor closed. */
  readonly isOpen: boolean | null;
  /** Something for people to work on; test cases and requirements only look like it. */
  readonly isWork: boolean;
  /** As they are spelled there. */
  readonly labels: readonly string[];
  readonly assignees: readonly string[];
  readonly author: string | null;
  readonly createdAt: string | null;
  readonly updatedAt: string | null;
  readonly fields: Fields;
}

const NO_WORK = new Set(['test_case', 'requirement']);

export function readGitlabIssue(value: unknown): GitlabIssue {
  const fields = fieldsOf(value);
  const { iid, state, labels, assignees, assignee } = fields;
  const people = listOf(assignees).length > 0 ? listOf(assignees) : [assignee];
  return {
    iid: Number.isSafeInteger(iid) && (iid as number) > 0 ? (iid as number) : null,
    isOpen: state === 'opened' ? true : state === 'closed' ? false : null,
    isWork: !NO_WORK.has(String(fields.issue_type).toLowerCase()),
    labels: listOf(labels).flatMap((label) => textOf(label) ?? textOf(fieldsOf(label).name) ?? []),
    assignees: people.flatMap((person) => usernameOf(person) ?? []),
    author: usernameOf(fields.author),
    createdAt: textOf(fields.created_at),
    updatedAt: textOf(fields.updated_at),
    fields,
  };
}

export function usernameOf(user: unknown): string | null {
  return textOf(fieldsOf(user).username);
}

/** Trimmed and in lower case, as required labels are compared. */
export function labelKey(label: string): string {
  return label.trim().toLowerCase();
}

export function hasLabels({ labels }: Pick<GitlabIssue, 'labels'>, required: readonly string[]): boolean {
  if (required.length === 0) return true;
  const carried = new Set(labels.map(labelKey));
  return required.every((label) => carried.has(labelKey(label)));
}
