import type { Trust } from '../../domain/config.js';
import type { Issue } from '../../domain/issue.js';
import { type Fields, fieldsOf, foundIn, listOf, textOf } from '../../domain/json.js';
import { assignedElsewhere, type LabelStates, type OwnStates, priorityOf } from '../label-states.js';
import { normaliseIssue } from '../normalise-issue.js';
import { authorOf, type Writer } from '../trust.js';

/** An issue as GitHub tells it, as far as it can be read. What is wrong with it comes out when it is normalised. */
export interface GithubIssue {
  /** `null`: this is no issue at all. */
  readonly number: number | null;
  readonly nodeId: string | null;
  readonly isPullRequest: boolean;
  /** `null`: neither open nor closed. */
  readonly isOpen: boolean | null;
  readonly isLocked: boolean;
  /** As they are spelled there. */
  readonly labels: readonly string[];
  readonly assignees: readonly string[];
  readonly author: Writer & { readonly isMember: boolean };
  readonly createdAt: string | null;
  readonly updatedAt: string | null;
  /** How many other issues it waits or waited for. */
  readonly blockers: number;
  /** How many of them are open. */
  readonly openBlockers: number;
  readonly comments: number;
  /** What is taken over as it is. The rest of a record is many times as large, and would be kept with it. */
  readonly fields: Pick<Fields, 'title' | 'body' | 'html_url' | 'created_at' | 'updated_at'>;
}

export function readGithubIssue(value: unknown): GithubIssue {
  const fields = fieldsOf(value);
  const { number, state, labels, assignees, assignee, title, body, html_url, created_at, updated_at } = fields;
  const { total_blocked_by: total, blocked_by: open } = fieldsOf(fields.issue_dependencies_summary);
  const people = listOf(assignees).length > 0 ? listOf(assignees) : [assignee];
  return {
    number: isNumber(number) ? number : null,
    nodeId: textOf(fields.node_id),
    isPullRequest: fields.pull_request !== undefined && fields.pull_request !== null,
    isOpen: state === 'open' ? true : state === 'closed' ? false : null,
    isLocked: fields.locked === true,
    labels: foundIn(labels, nameOfLabel),
    assignees: foundIn(people, loginOf),
    author: writerOf(fields),
    createdAt: textOf(created_at),
    updatedAt: textOf(updated_at),
    blockers: Math.max(count(total), count(open)),
    openBlockers: count(open),
    comments: count(fields.comments),
    fields: { title, body, html_url, created_at, updated_at },
  };
}

const MEMBERS = new Set(['OWNER', 'MEMBER', 'COLLABORATOR']);

/** Who wrote an issue or a comment. Only a plain yes makes a member: whoever contributed once is none. */
export function writerOf({ user, author_association: association }: Fields): Writer & { readonly isMember: boolean } {
  return { login: loginOf(user), isMember: typeof association === 'string' && MEMBERS.has(association) };
}

export function loginOf(user: unknown): string | null {
  return textOf(fieldsOf(user).login);
}

/** Old servers tell labels by name alone. */
function nameOfLabel(label: unknown): string | null {
  return textOf(label) ?? textOf(fieldsOf(label).name);
}

function isNumber(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

function count(value: unknown): number {
  return isNumber(value) ? value : 0;
}

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

const PREFIX = 'GH-';

/** GitHub makes links of this form by itself, and it is a clean name for folders and branches. */
export function identifierOf(number: number): string {
  return `${PREFIX}${number}`;
}

/** `12`, `#12` and `GH-12` are one issue; `null`: no issue can have that name. */
export function numberOf(written: string): number | null {
  const [, digits] = /^(?:GH-|#)?(\d{1,15})$/i.exec(written.trim()) ?? [];
  const number = Number(digits ?? 0);
  return number > 0 ? number : null;
}

export const OPEN = 'open';
export const CLOSED = 'closed';

export const OWN_STATES: OwnStates = { tracker: 'GitHub', open: OPEN, closed: CLOSED };
