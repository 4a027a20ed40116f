import { stateKey } from '../domain/issue.js';
import type { LabelStates } from './label-states.js';

/** The labels that WORKFLOW.md names, and the setting that does. */
export function namedLabels(states: LabelStates, requiredLabels: readonly string[]): ReadonlyMap<string, string> {
  return new Map([
    ...states.labels.map((label) => [label, 'tracker.provider.state_labels'] as const),
    ...requiredLabels.map((label) => [label, 'tracker.required_labels'] as const),
  ]);
}

/** A sentence for each that is not there. */
export function missingLabels(
  named: ReadonlyMap<string, string>,
  existing: readonly (string | null)[],
  where: string,
): readonly string[] {
  const keys = new Set(existing.map((name) => (name === null ? null : stateKey(name))));
  return [...named]
    .filter(([label]) => !keys.has(stateKey(label)))
    .map(([label, key]) => `${where} has no label "${label}", which ${key} names.`);
}
