import type { Json, JsonObject } from '../../domain/json.js';
import { nearestWord } from '../../text/nearest-word.js';
import { identifier } from '../setting-types.js';
import { isMap, kindOf, knownKeysAt, sayProblem, shown, zodProblems } from '../problems.js';
import type { Faults, PlanSource } from './faults.js';
import { ACTIVITY_KINDS, STEP_KINDS, type StepKind } from './step-schema.js';

/** What steps can name by `target: activity:<name>`. */
export interface Activities {
  readonly usable: ReadonlyMap<string, JsonObject>;
  /** Their faults have been told; what uses them has none of its own. */
  readonly faulty: ReadonlySet<string>;
}

const NOT_IN_AN_ACTIVITY = ['parallel', 'fan_out', 'fan_in', 'loop', 'steps', 'target', 'join'];

export function readActivities(source: PlanSource, faults: Faults): Activities {
  const written = source.values.activities ?? {};
  const usable = new Map<string, JsonObject>();
  const faulty = new Set<string>();
  if (!isMap(written)) {
    const at = source.positions.valueAt(['activities']);
    faults.add(at, `activities must be a map of names to steps, got ${kindOf(written)}`);
    return { usable, faulty };
  }
  for (const [name, value] of Object.entries(written)) {
    const before = faults.problems.length;
    const activity = readActivity(name, value, source, faults);
    if (faults.problems.length > before) faulty.add(name);
    if (activity !== null) usable.set(name, activity);
  }
  return { usable, faulty };
}

function readActivity(name: string, value: Json, { positions }: PlanSource, faults: Faults): JsonObject | null {
  const path = ['activities', name];
  const refuse = (text: string, key?: string) => {
    const at = key === undefined ? positions.keyAt(path) : positions.keyAt([...path, key]);
    faults.add(at, `activity ${JSON.stringify(name.slice(0, 80))}: ${text}`, 'JobValidation');
    return null;
  };
  const named = identifier.safeParse(name);
  if (!named.success) return refuse(`its name ${named.error.issues[0]?.message ?? 'cannot be used'}`);
  if (!isMap(value)) return refuse(`must be a map with a kind, got ${kindOf(value)}`);
  const { schemaVersion, ...keys } = value;
  if (schemaVersion !== undefined && schemaVersion !== 2) {
    const text = `schemaVersion ${shown(schemaVersion)} is retired and cannot be used; remove the key and write the activity as the keys of a step`;
    return refuse(text, 'schemaVersion');
  }
  const misplaced = NOT_IN_AN_ACTIVITY.find((key) => key in keys);
  if (misplaced !== undefined)
    return refuse(`an activity is one step with a kind and cannot have ${misplaced}; move it into steps`, misplaced);
  if ('id' in keys) return refuse('id belongs to the step that uses the activity; remove it here', 'id');
  const kind = keys.kind ?? null;
  if (!isKind(kind)) return refuse(kindFault(kind), 'kind');
  for (const problem of zodProblems(ACTIVITY_KINDS[kind].safeParse(keys).error)) {
    const at = problem.isOfKey
      ? positions.keyAt([...path, ...problem.path])
      : positions.valueAt([...path, ...problem.path]);
    const text = sayProblem(problem, keys, knownKeysAt(ACTIVITY_KINDS[kind], problem.path));
    faults.add(at, `activity ${JSON.stringify(name)}: ${text}`);
  }
  return keys;
}

export function isKind(value: Json | undefined): value is StepKind {
  return typeof value === 'string' && (STEP_KINDS as readonly string[]).includes(value);
}

export function kindFault(kind: Json | undefined): string {
  const near = typeof kind === 'string' ? nearestWord(kind, STEP_KINDS) : null;
  const hint = near === null ? '' : `; did you mean ${near}?`;
  return `kind must be one of ${STEP_KINDS.join(', ')}, got ${shown(kind)}${hint}`;
}
