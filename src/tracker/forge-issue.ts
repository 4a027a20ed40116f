import { BatonError } from '../domain/errors.js';
import { type Issue, labelKey, stateKey } from '../domain/issue.js';
import { fieldsOf, foundIn, type JsonObject, textOf } from '../domain/json.js';
import { assignedElsewhere, type LabelStates, priorityOf } from './label-states.js';
import { normaliseIssue } from './normalise-issue.js';

/** An unvalidated issue of GitHub or GitLab; `normaliseIssue` validates it. Caches store this, because the records are much larger. */
export interface ForgeIssue {
  /** The number in the project; null when the record is not an issue. */
  readonly number: number | null;
  /** False for pull requests and test cases. */
  readonly isWork: boolean;
  /** Null when the state is neither open nor closed. */
  readonly isOpen: boolean | null;
  /** Only members can comment on it. */
  readonly isLocked: boolean;
  /** In the spelling of the forge. */
  readonly labels: readonly string[];
  readonly assignees: readonly string[];
  readonly author: string | null;
  readonly createdAt: string | null;
  readonly updatedAt: string | null;
  readonly title: unknown;
  readonly description: unknown;
  readonly url: unknown;
  readonly nativeRef: JsonObject;
}

/** The names of issues: `12`, `#12` and `GH-12` are one issue. Both forges link the form with a prefix, which is also good for folders and branches. */
export class IssueNumbers {
  readonly #pattern: RegExp;

  constructor(private readonly prefix: 'GH-' | 'GL-') {
    this.#pattern = new RegExp(`^(?:${prefix}|#)?(\\d{1,15})$`, 'i');
  }

  identifierOf(number: number): string {
    return `${this.prefix}${number}`;
  }

  /** Returns null when no issue can have that name. */
  numberOf(written: string): number | null {
    const number = Number(this.#pattern.exec(written.trim())?.[1] ?? 0);
    return number > 0 ? number : null;
  }
}

export function isNumber(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

/** Some servers send labels as names, others as objects. */
export function namesOfLabels(labels: unknown): readonly string[] {
  return foundIn(labels, (label) => textOf(label) ?? textOf(fieldsOf(label).name));
}

export function hasLabels({ labels }: Pick<ForgeIssue, 'labels'>, required: readonly string[]): boolean {
  if (required.length === 0) return true;
  const carried = new Set(labels.map(labelKey));
  return required.every((label) => carried.has(labelKey(label)));
}

export interface Mapping {
  readonly states: LabelStates;
  /** The required assignee; null when any or none is accepted. */
  readonly assignee: string | null;
  readonly numbers: IssueNumbers;
}

/** Leaves out author, blockers and edits, which need further requests. Throws `tracker_response`. */
export function toIssue(found: ForgeIssue, { states, assignee, numbers }: Mapping): Issue {
  const { number, isOpen, labels, assignees } = found;
  const heldBack = assignee === null ? null : assignedElsewhere(assignees, assignee);
  return normaliseIssue({
    id: number,
    identifier: number === null ? null : numbers.identifierOf(number),
    title: found.title,
    description: found.description,
    priority: priorityOf(labels),
    state: isOpen === null ? null : states.of(isOpen, labels).state,
    url: found.url,
    assignee_id: assignees[0],
    labels,
    dispatchable: heldBack === null,
    held_back: heldBack,
    native_ref: found.nativeRef,
    created_at: found.createdAt,
    updated_at: found.updatedAt,
  });
}

/** A record with its issue, or with the problem that prevents one. */
export type MappedRecord<Found extends ForgeIssue> = { readonly found: Found } & (
  | { readonly issue: Issue; readonly problem: null }
  | { readonly issue: null; readonly problem: string }
);

/** Returns null for an issue in another state, and for a record that is not work. */
export function mapWanted<Found extends ForgeIssue>(
  found: Found,
  wanted: ReadonlySet<string>,
  mapping: Mapping,
): MappedRecord<Found> | null {
  const { isWork, isOpen, labels } = found;
  if (!isWork) return null;
  if (isOpen !== null && !wanted.has(stateKey(mapping.states.of(isOpen, labels).state))) return null;
  try {
    return { found, issue: toIssue(found, mapping), problem: null };
  } catch (error) {
    if (!(error instanceof BatonError)) throw error;
    return { found, issue: null, problem: error.message };
  }
}

/** What the result of `mapWanted` depends on besides the record. Label states never change. */
export function mappingKey(states: readonly string[], { assignee }: Mapping): string {
  return JSON.stringify([states, assignee]);
}

type Additions = Pick<Issue, 'author' | 'blocked_by' | 'dispatchable' | 'held_back'>;

/** The last result for each mapped issue. */
const COMPLETED = new WeakMap<Issue, Issue>();

/** The issue with what further requests have told; the same object as at the last poll when that told the same. */
export function completed(issue: Issue, additions: Additions): Issue {
  const last = COMPLETED.get(issue);
  if (last !== undefined && isComplete(last, additions)) return last;
  const next = { ...issue, ...additions };
  COMPLETED.set(issue, next);
  return next;
}

function isComplete(issue: Issue, { author, blocked_by: blockers, held_back: heldBack }: Additions): boolean {
  return (
    issue.held_back === heldBack &&
    issue.author?.login === author?.login &&
    issue.author?.trusted === author?.trusted &&
    (issue.blocked_by === blockers || JSON.stringify(issue.blocked_by) === JSON.stringify(blockers))
  );
}

/** The problems of the records, one sentence each. */
export function problemsOf(mapped: readonly MappedRecord<ForgeIssue>[], mapping: Mapping): readonly string[] {
  return mapped.flatMap(({ found, problem }) => problem ?? stateConflict(found, mapping) ?? []);
}

function stateConflict({ number, isOpen, labels }: ForgeIssue, { states, numbers }: Mapping): string | null {
  if (number === null || isOpen === null) return null;
  const { state, rivals } = states.of(isOpen, labels);
  if (rivals.length === 0) return null;
  const names = rivals.map((label) => `"${label}"`).join(' and ');
  return `${numbers.identifierOf(number)} carries the state labels ${names}. It counts as "${state}"; remove the others.`;
}
