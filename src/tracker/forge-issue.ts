import { BatonError } from '../domain/errors.js';
import { type Issue, labelKey, stateKey } from '../domain/issue.js';
import { fieldsOf, foundIn, textOf } from '../domain/json.js';
import { assignedElsewhere, type LabelStates, priorityOf } from './label-states.js';
import { normaliseIssue } from './normalise-issue.js';

/** An issue of GitHub or GitLab as it was sent. Faults show when it is normalised. Records are many times as large, and caches hold these in their place. */
export interface ForgeIssue {
  /** Its number in the project; `null`: this is no issue at all. */
  readonly number: number | null;
  /** People work on it: it is no pull request and no test case. */
  readonly isWork: boolean;
  /** `null`: neither open nor closed. */
  readonly isOpen: boolean | null;
  /** Only members can comment on it. */
  readonly isLocked: boolean;
  /** As the forge spells them. */
  readonly labels: readonly string[];
  readonly assignees: readonly string[];
  readonly author: string | null;
  readonly createdAt: string | null;
  readonly updatedAt: string | null;
  readonly title: unknown;
  readonly description: unknown;
  readonly url: unknown;
  readonly nativeRef: unknown;
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

  /** `null`: no issue has that name. */
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
  /** The login to which an issue must be assigned; `null`: any or none. */
  readonly assignee: string | null;
  readonly numbers: IssueNumbers;
}

/** Without author, blockers and edits, which take further requests. Throws `tracker_response`. */
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

/** A record with its issue, or with what is wrong with it. */
export type MappedRecord<Found extends ForgeIssue> = { readonly found: Found } & (
  | { readonly issue: Issue; readonly problem: null }
  | { readonly issue: null; readonly problem: string }
);

/** `null`: in another state, or nothing that people work on. */
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

/** What is wrong with records, a sentence each. */
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
