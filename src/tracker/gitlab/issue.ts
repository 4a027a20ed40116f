import { type Fields, fieldsOf, foundIn, listOf, textOf } from '../../domain/fields.js';

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
  /** What is taken over as it is. The rest of a record is many times as large, and would be kept with it. */
  readonly fields: Fields;
}

const NO_WORK = new Set(['test_case', 'requirement']);

export function readGitlabIssue(value: unknown): GitlabIssue {
  const fields = fieldsOf(value);
  const { iid, state, labels, assignees, assignee } = fields;
  const { title, description, web_url, discussion_locked, references, created_at, updated_at } = fields;
  const people = listOf(assignees).length > 0 ? listOf(assignees) : [assignee];
  return {
    iid: Number.isSafeInteger(iid) && (iid as number) > 0 ? (iid as number) : null,
    isOpen: state === 'opened' ? true : state === 'closed' ? false : null,
    isWork: !NO_WORK.has(String(fields.issue_type).toLowerCase()),
    labels: foundIn(labels, nameOfLabel),
    assignees: foundIn(people, usernameOf),
    author: usernameOf(fields.author),
    createdAt: textOf(created_at),
    updatedAt: textOf(updated_at),
    fields: { title, description, web_url, discussion_locked, references, created_at, updated_at },
  };
}

/** With details they are told as objects. */
function nameOfLabel(label: unknown): string | null {
  return textOf(label) ?? textOf(fieldsOf(label).name);
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
