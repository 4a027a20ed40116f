import type { Json } from '../../domain/json.js';
import type { Backend } from '../../domain/steps/plan.js';
import type { KeyPath } from '../positions.js';
import { identifier } from '../setting-types.js';
import { isMap, kindOf, knownKeysAt, sayProblem, type ZodProblem, zodProblems } from '../problems.js';
import { type BuildContext, buildAction, buildShape } from './build-step.js';
import type { Faults, PlanSource } from './faults.js';
import { type Activities, isKind, kindFault } from './read-activities.js';
import { stepKeys } from './step-keys.js';
import { keyPlace, nameOf, type StepKeys, type StepNode, valuePlace } from './step-node.js';
import { BODIES, KINDS, SHAPES, type ShapeName, type StepKind } from './step-schema.js';

export interface StepReader extends BuildContext {
  readonly source: PlanSource;
  readonly activities: Activities;
  readonly faults: Faults;
}

/** Reads a list of steps and everything inside them. What has a fault is in the result too, without a finished step. */
export function readSteps(values: readonly Json[], path: KeyPath, reader: StepReader): StepNode[] {
  return readAll(
    values.map((value, index) => ({ value, path: [...path, index] })),
    reader,
  );
}

interface Entry {
  readonly value: Json;
  readonly path: KeyPath;
}

function readAll(entries: readonly Entry[], reader: StepReader): StepNode[] {
  return entries.flatMap(({ value, path }) => readStep(value, path, reader) ?? []);
}

function readStep(value: Json, path: KeyPath, reader: StepReader): StepNode | null {
  const { activities, source, faults } = reader;
  const keys = stepKeys(value, path, activities, source, faults);
  if (keys === null) return null;
  const id = identifier.safeParse(keys.values.id).data ?? null;
  const body = bodyOf(keys, nameOf({ id, keys }), faults);
  if (body === null) return { keys, id, body, backend: null, lists: [], step: null };
  return 'kind' in body ? readAction(keys, id, body.kind, reader) : readShape(keys, id, body.shape, reader);
}

/** What makes it a step; exactly one. */
function bodyOf(keys: StepKeys, name: string, faults: Faults): StepNode['body'] {
  const bodies = BODIES.filter((body) => (keys.values[body] ?? null) !== null);
  const [body] = bodies;
  if (body === undefined || bodies.length > 1) {
    const found = body === undefined ? 'has none' : `has ${bodies.join(' and ')}`;
    const at = bodies[1] === undefined ? valuePlace(keys) : keyPlace(keys, [bodies[1]]);
    faults.add(at, `${name}: a step has exactly one of ${BODIES.join(', ')}; this one ${found}`, 'JobValidation');
    return null;
  }
  if (body === 'parallel' || body === 'fan_out' || body === 'loop') return { shape: body };
  const { kind } = keys.values;
  if (isKind(kind)) return { kind };
  faults.add(valuePlace(keys, ['kind']), `${name}: ${kindFault(kind)}`, 'JobValidation');
  return null;
}

function readAction(keys: StepKeys, id: string | null, kind: StepKind, reader: StepReader): StepNode {
  const { faults, activities } = reader;
  const parsed = KINDS[kind].safeParse(keys.values);
  const name = nameOf({ id, keys });
  for (const problem of zodProblems(parsed.error)) {
    // A fault of the activity has been told with it.
    const isBorrowed = keys.activity?.keys.has(String(problem.path[0])) && activities.faulty.has(keys.activity.name);
    if (!isBorrowed) tell(problem, keys, name, knownKeysAt(KINDS[kind], problem.path), `${kind} steps`, faults);
  }
  const backend = kind === 'agent' ? backendOf(keys, reader) : null;
  const node = { keys, id, body: { kind }, backend, lists: [] };
  if (backend !== null) refuseOtherBackend(keys, name, backend, faults);
  return { ...node, step: parsed.success ? buildAction(parsed.data, node, reader) : null };
}

/** Absent means cli; `auto` becomes what flag, variable or setting say. From here on there is no `auto`. */
function backendOf({ values }: StepKeys, { auto }: StepReader): Backend | null {
  if (values.backend === 'auto') return auto;
  return values.backend === 'http' ? 'http' : 'cli';
}

const ONLY: { readonly [backend in Backend]: readonly string[] } = {
  cli: ['max_turns'],
  http: ['agent', 'input', 'strategy'],
};

/** A step that says `auto` may have the keys of both; any other must not have keys that would be ignored. */
function refuseOtherBackend(keys: StepKeys, name: string, backend: Backend, faults: Faults): void {
  if (keys.values.backend === 'auto') return;
  const other = backend === 'cli' ? 'http' : 'cli';
  for (const key of ONLY[other].filter((only) => (keys.values[only] ?? null) !== null)) {
    const text = `${name}: ${key} is only for backend ${other}, and this step runs on ${backend}; set backend: ${other}, or remove ${key}`;
    faults.add(keyPlace(keys, [key]), text);
  }
}

function readShape(keys: StepKeys, id: string | null, shape: ShapeName, reader: StepReader): StepNode {
  const { faults } = reader;
  const parsed = SHAPES[shape].safeParse(keys.values);
  const name = nameOf({ id, keys });
  for (const problem of zodProblems(parsed.error)) {
    const isFanInMissing = shape === 'fan_out' && problem.path.join('.') === 'fan_in' && !keys.values.fan_in;
    if (isFanInMissing) {
      const text = `${name}: fan_out needs a fan_in beside it; \`fan_in: {}\` waits for every item`;
      faults.add(keyPlace(keys, ['fan_out']), text, 'JobValidation');
    } else tell(problem, keys, name, knownKeysAt(SHAPES[shape], problem.path), `${shape} steps`, faults);
  }
  const lists = innerLists(keys, shape).map((entries, index) => {
    if (entries.length === 0 && shape === 'parallel')
      faults.add(valuePlace(keys, ['parallel', index]), `${name}: a branch must have at least one step`);
    return readAll(entries, reader);
  });
  const node = { keys, id, body: { shape }, backend: null, lists };
  return { ...node, step: parsed.success ? buildShape(parsed.data, node, reader) : null };
}

/** The lists of inner steps as written; also where something else is wrong. */
function innerLists({ values, path: own }: StepKeys, shape: ShapeName): Entry[][] {
  const written = values[shape] ?? null;
  const entries = (list: readonly Json[], path: KeyPath) =>
    list.map((value, index): Entry => ({ value, path: [...own, ...path, index] }));
  if (shape !== 'parallel') {
    const steps = isMap(written) ? written.steps : null;
    return Array.isArray(steps) ? [entries(steps, [shape, 'steps'])] : [];
  }
  if (!Array.isArray(written)) return [];
  return written.map((branch: Json, index) =>
    Array.isArray(branch)
      ? entries(branch, ['parallel', index])
      : [{ value: branch, path: [...own, 'parallel', index] }],
  );
}

function tell(
  problem: ZodProblem,
  keys: StepKeys,
  name: string,
  known: readonly string[],
  owner: string,
  faults: Faults,
): void {
  const at = problem.isOfKey ? keyPlace(keys, problem.path) : valuePlace(keys, problem.path);
  if (problem.path.length === 0) return faults.add(at, `${name}: ${problem.message}, got ${kindOf(keys.values)}`);
  const text = sayProblem(problem, keys.values, known);
  const isTopLevel = problem.isUnknownKey && problem.path.length === 1;
  faults.add(at, `${name}: ${isTopLevel ? `${owner} have no key ${text.replace(/^unknown key /, '')}` : text}`);
}
