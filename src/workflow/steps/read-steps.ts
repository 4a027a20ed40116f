import type { z } from 'zod';
import { assertNever, isMap, type Json, type JsonObject } from '../../domain/json.js';
import { nearestWord } from '../../domain/nearest-word.js';
import type { Action, ActionStep, Backend, RetryPolicy, Step } from '../../domain/steps/plan.js';
import { formatPath, type KeyPath } from '../positions.js';
import {
  formatValue,
  formatZodProblem,
  knownKeysAt,
  suggestName,
  typeName,
  type ZodProblem,
  zodProblems,
} from '../problems.js';
import { identifier } from '../setting.js';
import type { Executors } from './executor-definitions.js';
import { type Services, serviceOf } from './services.js';
import {
  type Faults,
  filePath,
  keyPosition,
  nameOf,
  type PlanSource,
  type StepKeys,
  type StepNode,
  valuePosition,
} from './step-node.js';
import { ACTIVITY_KINDS, BODIES, KINDS, SHAPES, type ShapeName, STEP_KINDS, type StepKind } from './step-schema.js';

interface StepReader extends BuildContext {
  readonly source: PlanSource;
  readonly activities: Activities;
  readonly faults: Faults;
}

/** Reads a list of steps with their inner steps. A step with a fault is in the result too, with `step: null`. */
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

/** A step has exactly one body: a kind or a shape. */
function bodyOf(keys: StepKeys, name: string, faults: Faults): StepNode['body'] {
  const bodies = BODIES.filter((body) => (keys.values[body] ?? null) !== null);
  const [body] = bodies;
  if (body === undefined || bodies.length > 1) {
    const found = body === undefined ? 'has none' : `has ${bodies.join(' and ')}`;
    const at = bodies[1] === undefined ? valuePosition(keys) : keyPosition(keys, [bodies[1]]);
    faults.add(at, `${name}: a step has exactly one of ${BODIES.join(', ')}; this one ${found}`, 'JobValidation');
    return null;
  }
  if (body === 'parallel' || body === 'fan_out' || body === 'loop') return { shape: body };
  const { kind } = keys.values;
  if (isKind(kind)) return { kind };
  faults.add(valuePosition(keys, ['kind']), `${name}: ${kindFault(kind)}`, 'JobValidation');
  return null;
}

function readAction(keys: StepKeys, id: string | null, kind: StepKind, reader: StepReader): StepNode {
  const { faults, activities } = reader;
  const parsed = KINDS[kind].safeParse(keys.values);
  const name = nameOf({ id, keys });
  for (const problem of zodProblems(parsed.error)) {
    // Faults of the activity are reported once, with the activity.
    const isBorrowed = keys.activity?.keys.has(String(problem.path[0])) && activities.faulty.has(keys.activity.name);
    if (!isBorrowed)
      reportProblem(problem, keys, name, knownKeysAt(KINDS[kind], problem.path), `${kind} steps`, faults);
  }
  const backend = kind === 'agent' ? backendOf(keys, reader) : null;
  const node = { keys, id, body: { kind }, backend, lists: [] };
  if (backend !== null) refuseOtherBackend(keys, name, backend, faults);
  return { ...node, step: parsed.success ? buildAction(parsed.data, node, reader) : null };
}

/** Absent means cli. `auto` becomes the backend of flag, variable or setting. An invalid value is reported, and the backend stays open. */
function backendOf({ values }: StepKeys, { auto }: StepReader): Backend | null {
  if (values.backend === 'auto') return auto;
  if (values.backend === undefined || values.backend === null) return 'cli';
  return values.backend === 'http' || values.backend === 'cli' ? values.backend : null;
}

const ONLY: { readonly [backend in Backend]: readonly string[] } = {
  cli: ['max_turns'],
  http: ['agent', 'input', 'strategy'],
};

/** A step with `auto` may have the keys of both backends. Other steps must not have keys that would be ignored. */
function refuseOtherBackend(keys: StepKeys, name: string, backend: Backend, faults: Faults): void {
  if (keys.values.backend === 'auto') return;
  const other = backend === 'cli' ? 'http' : 'cli';
  for (const key of ONLY[other].filter((only) => (keys.values[only] ?? null) !== null)) {
    const text = `${name}: ${key} is only for backend ${other}, but this step runs on ${backend}; set backend: ${other}, or remove ${key}`;
    faults.add(keyPosition(keys, [key]), text);
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
      faults.add(keyPosition(keys, ['fan_out']), text, 'JobValidation');
    } else reportProblem(problem, keys, name, knownKeysAt(SHAPES[shape], problem.path), `${shape} steps`, faults);
  }
  const lists = innerLists(keys, shape).map((entries, index) => {
    if (entries.length === 0 && shape === 'parallel')
      faults.add(valuePosition(keys, ['parallel', index]), `${name}: a branch must have at least one step`);
    return readAll(entries, reader);
  });
  const node = { keys, id, body: { shape }, backend: null, lists };
  return { ...node, step: parsed.success ? buildShape(parsed.data, node, reader) : null };
}

/** The lists of inner steps as written, even if the shape has other faults. */
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

function reportProblem(
  problem: ZodProblem,
  keys: StepKeys,
  name: string,
  known: readonly string[],
  owner: string,
  faults: Faults,
): void {
  const at = problem.isOfKey ? keyPosition(keys, problem.path) : valuePosition(keys, problem.path);
  if (problem.path.length === 0) return faults.add(at, `${name}: ${problem.message}, got ${typeName(keys.values)}`);
  const text = formatZodProblem(problem, keys.values, known);
  const isTopLevel = problem.isUnknownKey && problem.path.length === 1;
  faults.add(at, `${name}: ${isTopLevel ? `${owner} have no key ${text.replace(/^unknown key /, '')}` : text}`);
}

interface BuildContext {
  readonly source: PlanSource;
  /** The backend of `auto`; null when an invalid value, which is reported, leaves it open. */
  readonly auto: Backend | null;
  readonly executors: Executors;
  readonly services: Services;
}

type Draft = Omit<StepNode, 'step'>;
type ParsedAction = z.output<(typeof KINDS)[keyof typeof KINDS]>;
type ParsedShape = z.output<(typeof SHAPES)[keyof typeof SHAPES]>;

/** The finished step. `services.ts` checks whether something can run it. */
function buildAction(parsed: ParsedAction, node: Draft, context: BuildContext): ActionStep {
  return {
    shape: 'action',
    ...baseOf(parsed, node, context),
    action: actionOf(parsed, node, context),
    retry: retryOf(parsed.retry),
    timeoutMs: timeoutOf(parsed, node, context),
    idempotencyKey: parsed.idempotency_key,
  };
}

/** Null when an inner step has a fault. */
function buildShape(parsed: ParsedShape, node: Draft, context: BuildContext): Step | null {
  const lists = node.lists.map((list) => list.flatMap(({ step }) => step ?? []));
  const isWhole = node.lists.every((list, index) => list.length === lists[index]?.length);
  const [steps = []] = lists;
  if (!isWhole) return null;
  const base = baseOf(parsed, node, context);
  if ('parallel' in parsed) return { shape: 'parallel', ...base, branches: lists, join: parsed.join };
  if ('fan_out' in parsed) {
    const { items, max_workers: maxWorkers } = parsed.fan_out;
    return { shape: 'fan_out', ...base, items, maxWorkers, steps, join: parsed.fan_in.join };
  }
  const { max_iterations: maxIterations, break_when, items } = parsed.loop;
  return { shape: 'loop', ...base, maxIterations, breakWhen: expressionOf(break_when), items, steps };
}

function baseOf(parsed: ParsedAction | ParsedShape, { keys }: Draft, { source }: BuildContext) {
  const { line, column } = valuePosition(keys);
  const place = `${source.name}:${line}:${column}`;
  return { id: parsed.id, place, when: expressionOf(parsed.when), outputTo: parsed.output_to };
}

function expressionOf(written: string | boolean | null): string | null {
  return written === null ? null : String(written);
}

function actionOf(parsed: ParsedAction, node: Draft, { source }: BuildContext): Action {
  switch (parsed.kind) {
    case 'agent': {
      const { session, agent, input, strategy } = parsed;
      const prompt =
        parsed.prompt === null
          ? source.prompt
          : {
              text: parsed.prompt,
              ...source.positions.textAt(filePath(node.keys, ['prompt']), parsed.prompt),
              file: source.name,
            };
      return node.backend === 'http'
        ? { kind: 'agent', backend: 'http', agent: agent ?? '', prompt, input, strategy, session }
        : { kind: 'agent', backend: 'cli', prompt, maxTurns: parsed.max_turns ?? 1, session };
    }
    case 'external':
      return {
        kind: 'external',
        executor: parsed.executor,
        input: parsed.input,
        model: parsed.model,
        envSet: parsed.env_set,
        description: parsed.description,
        tools: parsed.tools,
        allowedPrograms: parsed.allowed_programs,
        skills: parsed.skills,
        memory: parsed.memory,
        inputSchema: parsed.input_schema,
        outputSchema: parsed.output_schema,
      };
    case 'capability':
      return { kind: 'capability', type: parsed.type, name: parsed.name, params: parsed.params };
    case 'llm': {
      const { model, prompt, max_tokens: maxTokens, temperature, stop } = parsed;
      return { kind: 'llm', model, prompt, maxTokens, temperature, stop };
    }
    case 'tool':
      return { kind: 'tool', tool: parsed.tool, args: parsed.args };
    case 'code': {
      const { language, source: code, stdin, env, cwd } = parsed;
      return { kind: 'code', language, source: code, stdin, env, cwd };
    }
    default:
      return assertNever(parsed);
  }
}

function retryOf(retry: ParsedAction['retry']): RetryPolicy | null {
  if (retry === null) return null;
  return {
    maxAttempts: retry.max_attempts,
    initialBackoffMs: retry.initial_backoff_ms,
    backoffCapMs: retry.backoff_cap_ms,
    strategy: retry.strategy,
  };
}

/** The time limit of the step, else of its definition or service. */
function timeoutOf(parsed: ParsedAction, node: Draft, { executors, services }: BuildContext): number | null {
  if (parsed.timeout_s) return Math.ceil(parsed.timeout_s * 1000);
  if (parsed.kind === 'external') {
    const seconds = executors.usable.get(parsed.executor)?.timeoutSeconds ?? null;
    return seconds === null ? null : Math.ceil(seconds * 1000);
  }
  const service = serviceOf(parsed.kind, node.backend);
  return service === null ? null : (services.usable[service]?.timeoutMs ?? null);
}

const TARGET = /^activity:(.+)$/s;

/** The keys of an entry of `steps`, merged with those of its activity. Null when it cannot be read. */
function stepKeys(
  value: Json,
  path: KeyPath,
  activities: Activities,
  { positions }: PlanSource,
  faults: Faults,
): StepKeys | null {
  if (!isMap(value)) {
    faults.add(
      positions.valueAt(path),
      `${formatPath(path)} must be a map with an id and a kind, got ${typeName(value)}`,
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
  if (name === undefined) return refuse(`target must be activity:<name>, got ${formatValue(target)}`);
  const activity = activities.usable.get(name);
  if (activity === undefined) {
    if (activities.faulty.has(name)) return null;
    const hint = suggestName(name, [...activities.usable.keys()]);
    return refuse(`there is no activity ${JSON.stringify(name.slice(0, 80))} under activities; ${hint}`);
  }
  return merged(own, name, activity);
}

/** Keys of the step replace those of the activity. A body beside `target` is kept, so that it is rejected as the second one. */
function merged(step: StepKeys, name: string, activity: JsonObject): StepKeys {
  const { target: _, ...own } = step.values;
  const borrowed = Object.entries(activity).filter(([key]) => !Object.hasOwn(own, key));
  const isSecondBody = ['kind', 'parallel', 'fan_out', 'loop'].some((key) => Object.hasOwn(own, key));
  const values = Object.fromEntries([...borrowed, ...Object.entries(isSecondBody ? step.values : own)]);
  const keys = new Set(borrowed.map(([key]) => key));
  return { ...step, values, activity: { name, path: ['activities', name], keys } };
}

/** Steps that `target: activity:<name>` can use. */
interface Activities {
  readonly usable: ReadonlyMap<string, JsonObject>;
  /** Their faults are reported, so steps that use them report none. */
  readonly faulty: ReadonlySet<string>;
}

const NOT_IN_AN_ACTIVITY = ['parallel', 'fan_out', 'fan_in', 'loop', 'steps', 'target', 'join'];

export function readActivities(source: PlanSource, faults: Faults): Activities {
  const written = source.values.activities ?? {};
  const usable = new Map<string, JsonObject>();
  const faulty = new Set<string>();
  if (!isMap(written)) {
    const at = source.positions.valueAt(['activities']);
    faults.add(at, `activities must be a map of names to steps, got ${typeName(written)}`);
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
  if (!isMap(value)) return refuse(`must be a map with a kind, got ${typeName(value)}`);
  const { schemaVersion, ...keys } = value;
  if (schemaVersion !== undefined && schemaVersion !== 2) {
    const text = `schemaVersion ${formatValue(schemaVersion)} is no longer supported; remove the key and write the activity as the keys of a step`;
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
    const text = formatZodProblem(problem, keys, knownKeysAt(ACTIVITY_KINDS[kind], problem.path));
    faults.add(at, `activity ${JSON.stringify(name)}: ${text}`);
  }
  return keys;
}

function isKind(value: Json | undefined): value is StepKind {
  return typeof value === 'string' && (STEP_KINDS as readonly string[]).includes(value);
}

function kindFault(kind: Json | undefined): string {
  const near = typeof kind === 'string' ? nearestWord(kind, STEP_KINDS) : null;
  const hint = near === null ? '' : `; did you mean ${near}?`;
  return `kind must be one of ${STEP_KINDS.join(', ')}, got ${formatValue(kind)}${hint}`;
}
