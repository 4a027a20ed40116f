import { fieldsOf } from '../../domain/fields.js';
import type { Issue } from '../../domain/issue.js';
import { assignedElsewhere } from '../assigned-elsewhere.js';
import type { LabelStates } from '../label-states.js';
import { normaliseIssue } from '../normalise-issue.js';
import { priorityOf } from '../priority-of-labels.js';
import type { GitlabIssue } from './issue.js';
import { identifierOf } from './issue-number.js';

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
