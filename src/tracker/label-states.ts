import { labelKey, stateKey } from '../domain/issue.js';
import type { ProviderSettings } from './provider-settings.js';

/** The two states of a forge itself. */
export interface OwnStates {
  /** "GitHub" */
  readonly tracker: string;
  readonly open: string;
  readonly closed: string;
}

/** A state that a label makes: an open issue that carries the label is in it. */
export interface LabelState {
  readonly name: string;
  readonly label: string;
}

interface LabelledState {
  readonly state: string;
  /** The state labels that the issue carries, if there are several. */
  readonly rivals: readonly string[];
}

/** The states of a tracker that has only open and closed: open, the states that labels make, closed. */
export class LabelStates {
  constructor(
    private readonly own: OwnStates,
    private readonly labelled: readonly LabelState[],
  ) {}

  get names(): readonly string[] {
    return [this.own.open, ...this.labelled.map(({ name }) => name), this.own.closed];
  }

  get labels(): readonly string[] {
    return this.labelled.map(({ label }) => label);
  }

  /** The state as configured; `null`: there is no state of that name. */
  named(state: string): string | null {
    return this.names.find((name) => stateKey(name) === stateKey(state)) ?? null;
  }

  /** The label that makes a state; `null`: none does. */
  labelOf(state: string): string | null {
    return this.labelled.find(({ name }) => stateKey(name) === stateKey(state))?.label ?? null;
  }

  /** The state of an issue. Of several labels the last configured wins: lists go from the beginning of the work to its end. */
  of(isOpen: boolean, labels: readonly string[]): LabelledState {
    const { open, closed } = this.own;
    if (!isOpen) return { state: closed, rivals: [] };
    if (this.labelled.length === 0) return { state: open, rivals: [] };
    const keys = new Set(labels.map(stateKey));
    const found = this.labelled.filter(({ label }) => keys.has(stateKey(label)));
    const rivals = found.length > 1 ? found.map(({ label }) => label) : [];
    return { state: found.at(-1)?.name ?? open, rivals };
  }

  /** The label that puts an open issue with these labels into its state; `null`: none does. */
  labelFor(labels: readonly string[]): string | null {
    return this.labelOf(this.of(true, labels).state);
  }

  /** The state labels among the labels of an issue, as the issue spells them. */
  among(labels: readonly string[]): readonly string[] {
    const keys = new Set(this.labels.map(stateKey));
    return labels.filter((label) => keys.has(stateKey(label)));
  }
}

/** `state_labels`: a list of labels that are states, or a map of states and their labels. */
export function labelStatesOf(settings: ProviderSettings, { tracker, open, closed }: OwnStates): readonly LabelState[] {
  const found: LabelState[] = settings.isMap('state_labels')
    ? [...settings.map('state_labels')].map(([name, label]) => ({ name: name.trim(), label: label.trim() }))
    : settings.list('state_labels').map((label) => ({ name: label, label }));
  const names = new Set([open, closed]);
  const labels = new Set<string>();
  for (const { name, label } of found) {
    if (name === '' || label === '') throw settings.wrong('state_labels', 'holds an empty name');
    if (names.has(stateKey(name))) {
      const isTaken = [open, closed].includes(stateKey(name));
      const why = isTaken
        ? `names "${name}", which ${tracker} knows without a label`
        : `names the state "${name}" twice`;
      throw settings.wrong('state_labels', why);
    }
    if (labels.has(stateKey(label))) throw settings.wrong('state_labels', `uses the label "${label}" for two states`);
    names.add(stateKey(name));
    labels.add(stateKey(label));
  }
  return found;
}

interface LabelsOrder {
  readonly states: LabelStates;
  readonly requiredLabels: readonly string[];
  /** The labels of the project. */
  readonly existing: readonly (string | null)[];
  /** The display name of the project. */
  readonly target: string;
}

/** The labels that WORKFLOW.md names and the project does not have, a sentence each. */
export function missingLabels({ states, requiredLabels, existing, target }: LabelsOrder): readonly string[] {
  const named = new Map([
    ...states.labels.map((label) => [label, 'tracker.provider.state_labels'] as const),
    ...requiredLabels.map((label) => [label, 'tracker.required_labels'] as const),
  ]);
  const keys = new Set(existing.map((name) => (name === null ? null : labelKey(name))));
  return [...named]
    .filter(([label]) => !keys.has(labelKey(label)))
    .map(([label, key]) => `${target} has no label "${label}", which ${key} names.`);
}

const PRIORITIES: { readonly [word: string]: number } = { critical: 1, urgent: 1, high: 2, medium: 3, low: 4 };

/** The priority in labels such as `p1`, `priority: p1`, `priority/high` and `priority::1`. The most urgent counts. */
export function priorityOf(labels: readonly string[]): number | null {
  let urgent: number | null = null;
  for (const label of labels) {
    const found = priorityIn(label.trim().toLowerCase());
    if (found !== null && (urgent === null || found < urgent)) urgent = found;
  }
  return urgent;
}

function priorityIn(label: string): number | null {
  if (!label.startsWith('p')) return null;
  const [, bare] = /^p([1-4])$/.exec(label) ?? [];
  if (bare !== undefined) return Number(bare);
  const [, digit, word = ''] = /^priority[:/ -]{1,3}(?:p?([1-4])|([a-z]+))$/.exec(label) ?? [];
  return digit === undefined ? (Object.hasOwn(PRIORITIES, word) ? (PRIORITIES[word] ?? null) : null) : Number(digit);
}

/** The reason to hold an issue back that is not assigned to this login, going on from "it …"; `null`: it is. */
export function assignedElsewhere(assignees: readonly string[], wanted: string): string | null {
  if (assignees.some((login) => login.toLowerCase() === wanted.toLowerCase())) return null;
  const whom = assignees.length === 0 ? 'nobody' : assignees.join(' and ');
  return `is assigned to ${whom}, not to ${wanted}`;
}
