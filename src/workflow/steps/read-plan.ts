import type { CapabilityIndex } from '../../domain/capabilities.js';
import { isMap, type Json, type JsonObject } from '../../domain/json.js';
import type { Plan, Step } from '../../domain/steps/plan.js';
import type { DefinitionFile } from '../definition-files.js';
import type { Problem } from '../positions.js';
import { typeName, valueAt } from '../problems.js';
import { identifier } from '../setting.js';
import { checkCapabilities, hasCapabilities } from './check-capabilities.js';
import { checkData } from './check-data.js';
import { checkShapes } from './check-shapes.js';
import { readExecutors } from './executor-definitions.js';
import { readActivities, readSteps } from './read-steps.js';
import { describeBackend, resolveBackend } from './resolve-backend.js';
import { checkWiring, readServices } from './services.js';
import { allNodes, Faults, type PlanSource, type StepNode } from './step-node.js';

/** Pairs of steps are compared, so the number is limited. */
const MAX_STEPS = 500;

export interface PlanOptions {
  readonly definitions: readonly DefinitionFile[];
  readonly backendFlag?: string | undefined;
  /** Turns of the implied step. */
  readonly maxTurns: number;
  readonly capabilities?: ((projectDir: string) => Promise<CapabilityIndex>) | undefined;
}

export interface ReadPlan {
  /** Complete only without problems. */
  readonly plan: Plan;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  readonly secretNames: readonly string[];
  readonly literalSecrets: readonly string[];
}

/**
 * Reads `steps` and what belongs to them. Activities are merged and `auto` becomes a backend before shapes, sessions, data and
 * services are checked, because the checks apply to what runs.
 */
export async function readPlan(source: PlanSource, options: PlanOptions): Promise<ReadPlan> {
  const faults = new Faults();
  const inputs = inputsOf(source, faults);
  const activities = readActivities(source, faults);
  const executors = readExecutors(source, options.definitions, faults);
  const services = readServices(source, faults);
  const setting = valueAt(source.values, ['runtime', 'backend']) ?? null;
  const { backend, auto, problems } = resolveBackend({ flag: options.backendFlag, env: source.env, setting });
  const reader = { source, activities, executors, services, auto, faults };
  const nodes = limitSteps(readSteps(listOf(source, faults), ['steps'], reader), source, faults);
  checkShapes(nodes, faults);
  checkData(nodes, source, faults);
  checkWiring(nodes, executors, services, describeBackend(backend), faults);
  if (options.capabilities !== undefined && hasCapabilities(nodes))
    checkCapabilities(nodes, await options.capabilities(source.dir), faults);
  const isImplied = (source.values.steps ?? null) === null;
  return {
    plan: {
      isImplied,
      steps: isImplied ? [impliedStep(source, options)] : nodes.flatMap(({ step }) => step ?? []),
      inputs,
      backend,
      executors: Object.fromEntries(executors.usable),
      services: services.usable,
    },
    problems: [...problems, ...faults.problems],
    warnings: faults.warnings,
    secretNames: services.secretNames,
    literalSecrets: [...services.literalSecrets, ...executors.literalSecrets],
  };
}

function inputsOf({ values, positions }: PlanSource, faults: Faults): JsonObject {
  const inputs: Json = values.inputs ?? {};
  if (!isMap(inputs)) {
    faults.add(positions.valueAt(['inputs']), `inputs must be a map of names to values, got ${typeName(inputs)}`);
    return {};
  }
  for (const name of Object.keys(inputs)) {
    const named = identifier.safeParse(name);
    if (named.success) continue;
    const text = `inputs: the name ${JSON.stringify(name.slice(0, 80))} ${named.error.issues[0]?.message ?? 'cannot be used'}`;
    faults.add(positions.keyAt(['inputs', name]), text);
  }
  return inputs;
}

function listOf({ values, positions }: PlanSource, faults: Faults): readonly Json[] {
  const steps: Json = values.steps ?? null;
  if (steps === null) return [];
  const at = positions.valueAt(['steps']);
  if (!Array.isArray(steps)) faults.add(at, `steps must be a list of steps, got ${typeName(steps)}`);
  else if (steps.length === 0)
    faults.add(
      at,
      'steps is empty: write a step, or remove the key to run the prompt below as the only step',
      'JobValidation',
    );
  else return steps;
  return [];
}

function limitSteps(nodes: readonly StepNode[], { positions }: PlanSource, faults: Faults): readonly StepNode[] {
  let count = 0;
  for (const _ of allNodes(nodes)) count += 1;
  if (count <= MAX_STEPS) return nodes;
  faults.add(
    positions.valueAt(['steps']),
    `steps has ${count} steps in total, and at most ${MAX_STEPS} are allowed`,
    'JobValidation',
  );
  return [];
}

/** Without `steps`, a run is one agent whose prompt is the body. */
function impliedStep({ name, prompt }: PlanSource, { maxTurns }: PlanOptions): Step {
  return {
    shape: 'action',
    id: 'agent',
    place: `${name}:${Math.max(1, prompt.startLine)}:1`,
    when: null,
    outputTo: null,
    retry: null,
    timeoutMs: null,
    idempotencyKey: null,
    action: { kind: 'agent', backend: 'cli', prompt, maxTurns, session: null },
  };
}
