import type { Json, JsonObject } from '../../domain/json.js';
import { formatPath, type KeyPath } from '../positions.js';
import { isMap, kindOf, meant, shown } from '../problems.js';
import type { Faults, PlanSource } from './faults.js';
import type { Activities } from './read-activities.js';
import type { StepKeys } from './step-node.js';

const TARGET = /^activity:(.+)$/s;

/** The keys of one entry of `steps`. Where it says `target`, those of the activity are beneath its own. `null`: it cannot be read. */
export function stepKeys(
  value: Json,
  path: KeyPath,
  activities: Activities,
  { positions }: PlanSource,
  faults: Faults,
): StepKeys | null {
  if (!isMap(value)) {
    faults.add(
      positions.valueAt(path),
      `${formatPath(path)} must be a map with an id and a kind, got ${kindOf(value)}`,
    );
    return null;
  }
  const own: StepKeys = { values: value, path, activity: null, positions };
  const { target } = value;
  if (target === undefined || target === null) return own;
  const refuse = (text: string) => {
    const name = typeof value.id === 'string' ? `step ${JSON.stringify(value.id.slice(0, 80))}` : formatPath(path);
    faults.add(positions.valueAt([...path, 'target']), `${name}: ${text}`, 'JobValidation');
    return null;
  };
  const name = typeof target === 'string' ? TARGET.exec(target.trim())?.[1] : undefined;
  if (name === undefined) return refuse(`target must be activity:<name>, got ${shown(target)}`);
  const activity = activities.usable.get(name);
  if (activity === undefined) {
    if (activities.faulty.has(name)) return null;
    const hint = meant(name, [...activities.usable.keys()]);
    return refuse(`there is no activity ${JSON.stringify(name.slice(0, 80))} under activities; ${hint}`);
  }
  return merged(own, name, activity);
}

/** The keys of the step itself win, each as a whole. A body of its own beside `target` stays, and is refused as the second one. */
function merged(step: StepKeys, name: string, activity: JsonObject): StepKeys {
  const { target: _, ...own } = step.values;
  const borrowed = Object.entries(activity).filter(([key]) => !Object.hasOwn(own, key));
  const isSecondBody = ['kind', 'parallel', 'fan_out', 'loop'].some((key) => Object.hasOwn(own, key));
  const values = Object.fromEntries([...borrowed, ...Object.entries(isSecondBody ? step.values : own)]);
  const keys = new Set(borrowed.map(([key]) => key));
  return { ...step, values, activity: { name, path: ['activities', name], keys } };
}
