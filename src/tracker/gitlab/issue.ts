import { type Issue, labelKey } from '../../domain/issue.js';
import { type Fields, fieldsOf, foundIn, listOf, textOf } from '../../domain/json.js';
import { assignedElsewhere, type LabelStates, type OwnStates, priorityOf } from '../label-states.js';
import { normaliseIssue } from '../normalise-issue.js';

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

export function hasLabels({ labels }: Pick<GitlabIssue, 'labels'>, required: readonly string[]): boolean {
  if (required.length === 0) return true;
  const carried = new Set(labels.map(labelKey));
  return required.every((label) => carried.has(labelKey(label)));
}

export interface Mapping {
  readonly states: LabelStates;
  /** To whom an issue must be assigned; `null`: to anybody or nobody. */
  readonly assignee: string | null;
}

/** Without what takes further questions: author, blockers, and who changed it. Throws `tracker_response`. */
export function toIssue(found: GitlabIssue, { states, assignee }: Mapping): Issue {
  const { iid, isOpen, labels, assignees, fields } = found;
  const heldBack = assignee === null ? null : assignedElsewhere(assignees, assignee);
  return normaliseIssue({
    id: iid,
    identifier: iid === null ? null : identifierOf(iid),
    title: fields.title,
    description: fields.description,
    priority: priorityOf(labels),
    state: isOpen === null ? null : states.of(isOpen, labels).state,
    url: fields.web_url,
    assignee_id: assignees[0],
    labels,
    dispatchable: heldBack === null,
    held_back: heldBack,
    native_ref: fieldsOf(fields.references).full,
    created_at: fields.created_at,
    updated_at: fields.updated_at,
  });
}

/** A sentence for people where an issue carries the labels of several states. */
export function stateRivalry({ iid, isOpen, labels }: GitlabIssue, states: LabelStates): string | null {
  if (iid === null || isOpen === null) return null;
  const { state, rivals } = states.of(isOpen, labels);
  if (rivals.length === 0) return null;
  const names = rivals.map((label) => `"${label}"`).join(' and ');
  return `${identifierOf(iid)} carries the state labels ${names}. It counts as "${state}"; take the others off.`;
}

const PREFIX = 'GL-';

/** GitLab makes links of this form by itself, and it is a clean name for folders and branches. */
export function identifierOf(iid: number): string {
  return `${PREFIX}${iid}`;
}

/** `12`, `#12` and `GL-12` are one issue; `null`: no issue can have that name. */
export function iidOf(written: string): number | null {
  const [, digits] = /^(?:GL-|#)?(\d{1,15})$/i.exec(written.trim()) ?? [];
  const iid = Number(digits ?? 0);
  return iid > 0 ? iid : null;
}

export const OPENED = 'opened';
export const CLOSED = 'closed';

export const OWN_STATES: OwnStates = { tracker: 'GitLab', open: OPENED, closed: CLOSED };
