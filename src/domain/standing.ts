import type { TrackerConfig } from './config.js';
import { type Blocker, type Issue, stateKey } from './issue.js';

/** Where an issue stands, as far as the issue itself tells: only an active one is worked on. */
export type Standing = 'active' | 'terminal' | 'inactive' | 'unroutable';

export function standingOf(issue: Issue, tracker: TrackerConfig): Standing {
  if (includesState(tracker.terminalStates, issue.state)) return 'terminal';
  if (!includesState(tracker.activeStates, issue.state)) return 'inactive';
  const isFree = issue.dispatchable && openBlockers(issue, tracker).length === 0;
  return isFree && isTrusted(issue) && missingLabels(issue, tracker).length === 0 ? 'active' : 'unroutable';
}

/** A blocker of which nobody knows how it stands is open. */
export function openBlockers(issue: Issue, tracker: TrackerConfig): Blocker[] {
  return issue.blocked_by.filter(({ state }) => state === null || !includesState(tracker.terminalStates, state));
}

/** `null` is "the tracker does not know": only a plain no keeps an issue out. */
export function isTrusted(issue: Issue): boolean {
  return issue.author?.trusted !== false;
}

/** A blank required label matches nothing: a half-written gate must not stand open. */
export function missingLabels(issue: Issue, tracker: TrackerConfig): string[] {
  return tracker.requiredLabels.filter((label) => {
    const wanted = label.trim().toLowerCase();
    return wanted === '' || !issue.labels.includes(wanted);
  });
}

export function includesState(states: readonly string[], state: string): boolean {
  return keysOf(states).has(stateKey(state));
}

/** Settings are frozen, and a poll asks about tens of thousands of issues: their keys are made once. */
const KEYS = new WeakMap<readonly string[], ReadonlySet<string>>();

function keysOf(states: readonly string[]): ReadonlySet<string> {
  const known = KEYS.get(states);
  if (known) return known;
  const keys = new Set(states.map(stateKey));
  if (Object.isFrozen(states)) KEYS.set(states, keys);
  return keys;
}
