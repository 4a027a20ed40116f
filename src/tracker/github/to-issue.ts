import type { Trust } from '../../domain/config.js';
import type { Issue } from '../../domain/issue.js';
import { assignedElsewhere } from '../assigned-elsewhere.js';
import type { LabelStates } from '../label-states.js';
import { normaliseIssue } from '../normalise-issue.js';
import { priorityOf } from '../priority-of-labels.js';
import { authorOf } from '../trust.js';
import type { GithubIssue } from './issue.js';
import { identifierOf } from './issue-number.js';

export interface Mapping {
  readonly states: LabelStates;
  readonly trust: Trust;
  /** To whom an issue must be assigned; `null`: to anybody or nobody. */
  readonly assignee: string | null;
}

/** Without what takes further questions: blockers, and who changed it. Throws `tracker_response`. */
export function toIssue(found: GithubIssue, { states, trust, assignee }: Mapping): Issue {
  const { number, isOpen, labels, assignees, author, nodeId, fields } = found;
  const heldBack = assignee === null ? null : assignedElsewhere(assignees, assignee);
  return normaliseIssue({
    id: number,
    identifier: number === null ? null : identifierOf(number),
    title: fields.title,
    description: fields.body,
    priority: priorityOf(labels),
    state: isOpen === null ? null : states.of(isOpen, labels).state,
    url: fields.html_url,
    assignee_id: assignees[0],
    author: authorOf(author, trust),
    labels,
    dispatchable: heldBack === null,
    held_back: heldBack,
    native_ref: nodeId,
    created_at: fields.created_at,
    updated_at: fields.updated_at,
  });
}

/** A sentence for people where an issue carries the labels of several states. */
export function stateRivalry({ number, isOpen, labels }: GithubIssue, states: LabelStates): string | null {
  if (number === null || isOpen === null) return null;
  const { state, rivals } = states.of(isOpen, labels);
  if (rivals.length === 0) return null;
  const names = rivals.map((label) => `"${label}"`).join(' and ');
  return `${identifierOf(number)} carries the state labels ${names}. It counts as "${state}"; take the others off.`;
}
