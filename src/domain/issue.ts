import type { TrackerConfig } from './config.js';
import type { JsonObject } from './json.js';

/** A work item of the tracker, normalised. Every field is always present: absent is `null` or `[]`. */
export interface Issue {
  readonly id: string;
  readonly identifier: string;
  readonly title: string;
  readonly description: string | null;
  /** 1 (urgent) … 4 (low); anything else sorts after them. */
  readonly priority: number | null;
  readonly state: string;
  readonly branch_name: string | null;
  readonly url: string | null;
  readonly assignee_id: string | null;
  /** Null when the tracker does not report it. `trusted` is null when it does not know memberships. */
  readonly author: { readonly login: string; readonly trusted: boolean | null } | null;
  /** Trimmed, lower case, unique. */
  readonly labels: readonly string[];
  readonly blocked_by: readonly Blocker[];
  readonly comments: readonly Comment[];
  /** The decision of the adapter: false when the issue is assigned to another user, was edited by an untrusted person, … */
  readonly dispatchable: boolean;
  /** Why `dispatchable` is false, as the end of a sentence "it …"; null without a reason. */
  readonly held_back: string | null;
  /** The tracker's own ids of the issue, for templates and tools; their names differ by tracker. */
  readonly native_ref: JsonObject | null;
  readonly created_at: string | null;
  readonly updated_at: string | null;
}

export interface Blocker {
  readonly id: string | null;
  readonly identifier: string | null;
  readonly state: string | null;
}

export interface Comment {
  readonly author: string | null;
  readonly body: string;
  readonly created_at: string | null;
}

/**
 * The issue that a person means by `name`: the one with that identifier, else the one with that id, else the only one whose identifier or id
 * differs in case alone (`task-1` is TASK-1). Compares texts instead of looking up keys, so `__proto__` is a name like any other.
 */
export function findIssue<T>(known: readonly T[], name: string, namesOf: (entry: T) => IssueNames): T | null {
  const wanted = name.trim().toLowerCase();
  const alike = known.filter((entry) => {
    const { id, identifier } = namesOf(entry);
    return identifier.toLowerCase() === wanted || id.toLowerCase() === wanted;
  });
  return (
    alike.find((entry) => namesOf(entry).identifier === name) ??
    alike.find((entry) => namesOf(entry).id === name) ??
    (new Set(alike.map((entry) => namesOf(entry).id)).size === 1 ? alike[0] : undefined) ??
    null
  );
}

type IssueNames = Pick<Issue, 'id' | 'identifier'>;

/** States are compared by this key: "In Progress " and "in progress" are one state. */
export function stateKey(state: string): string {
  return state.trim().toLowerCase();
}

/** Labels are compared by this key. */
export function labelKey(label: string): string {
  return label.trim().toLowerCase();
}

/** What the issue itself says about whether Baton works on it. Only an `active` issue is worked on. */
type Standing = 'active' | 'terminal' | 'inactive' | 'unroutable';

export function standingOf(issue: Issue, tracker: TrackerConfig): Standing {
  if (includesState(tracker.terminalStates, issue.state)) return 'terminal';
  if (!includesState(tracker.activeStates, issue.state)) return 'inactive';
  const isFree = issue.dispatchable && openBlockers(issue, tracker).length === 0;
  return isFree && isTrusted(issue) && missingLabels(issue, tracker).length === 0 ? 'active' : 'unroutable';
}

/** A blocker with an unknown state counts as open. */
export function openBlockers(issue: Issue, tracker: TrackerConfig): Blocker[] {
  return issue.blocked_by.filter(({ state }) => state === null || !includesState(tracker.terminalStates, state));
}

/** Null means that the tracker does not know: only false excludes the issue. */
export function isTrusted(issue: Issue): boolean {
  return issue.author?.trusted !== false;
}

/** A blank required label matches nothing, so that a half-written setting does not admit every issue. */
export function missingLabels(issue: Issue, tracker: TrackerConfig): string[] {
  return tracker.requiredLabels.filter((label) => {
    const wanted = labelKey(label);
    return wanted === '' || !issue.labels.includes(wanted);
  });
}

export function includesState(states: readonly string[], state: string): boolean {
  return keysOf(states).has(stateKey(state));
}

/** Cached per list: a poll checks tens of thousands of issues against the same frozen settings. */
const KEYS = new WeakMap<readonly string[], ReadonlySet<string>>();

function keysOf(states: readonly string[]): ReadonlySet<string> {
  const known = KEYS.get(states);
  if (known) return known;
  const keys = new Set(states.map(stateKey));
  if (Object.isFrozen(states)) KEYS.set(states, keys);
  return keys;
}

/**
 * Orders names with digits compared as numbers: `TASK-2` before `TASK-10`. A total order: only equal texts are equal, so the
 * result does not depend on the previous order. It does not depend on the locale.
 */
export function naturalOrder(a: string, b: string): number {
  const left = partsOf(a);
  const right = partsOf(b);
  for (let index = 0; index < Math.min(left.length, right.length); index += 1) {
    const order = comparePart(left[index] ?? '', right[index] ?? '');
    if (order !== 0) return order;
  }
  return left.length - right.length || compareText(a, b);
}

/** Alternating texts and numbers. The first part is a text and may be empty. */
function partsOf(text: string): string[] {
  return text.split(/(\d+)/);
}

/** Compares numbers of any length by their digits. */
function comparePart(a: string, b: string): number {
  if (!/^\d+$/.test(a) || !/^\d+$/.test(b)) return compareText(a, b);
  const left = a.replace(/^0+(?=\d)/, '');
  const right = b.replace(/^0+(?=\d)/, '');
  return left.length - right.length || compareText(left, right);
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
