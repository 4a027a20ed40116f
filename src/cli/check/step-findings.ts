import { discoverCapabilities } from '../../../runner/executors/capability/definitions.js';
import { findCommand } from '../../../runner/executors/external/find-command.js';
import { toBatonError } from '../../domain/errors.js';
import { assertNever, type Json } from '../../domain/json.js';
import { type ActionStep, allSteps, type ExecutorDefinition, type Step } from '../../domain/steps/plan.js';
import type { Position } from '../../workflow/positions.js';
import { variableName } from '../../workflow/provider-secrets.js';
import { describeBackend } from '../../workflow/steps/resolve-backend.js';
import { agentEnvironment } from './agent-findings.js';
import type { CheckContext } from './check-context.js';
import { type Finding, reporter } from './finding.js';
import { stepPromptFindings } from './step-prompt-findings.js';

/** What the plan is, in words, and whether what it starts is there. */
export async function stepFindings(context: CheckContext): Promise<Finding[]> {
  const { plan } = context.loaded.workflow;
  const actions = [...allSteps(plan.steps)].filter((step): step is ActionStep => step.shape === 'action');
  return [
    ...(plan.isImplied ? [] : [planFinding(context)]),
    ...backendFindings(context),
    ...(await commandFindings(context, actions)),
    ...(await capabilityFindings(context, actions)),
    ...(plan.isImplied ? [] : stepPromptFindings(context)),
  ];
}

function planFinding({ file, at, loaded }: CheckContext): Finding {
  const { steps } = loaded.workflow.plan;
  const count = [...allSteps(steps)].filter(({ shape }) => shape === 'action').length;
  const message = `a run has ${count} step${count === 1 ? '' : 's'}: ${steps.map(describe).join(', ')}`;
  return reporter('Steps', file)('note', 'plan', at(['steps']), message);
}

/** `plan (llm)`, `review (loop of critic (agent http), fix (agent cli))` */
function describe(step: Step): string {
  const inner = (steps: readonly Step[]) => steps.map(describe).join(', ');
  switch (step.shape) {
    case 'action': {
      const { action } = step;
      return `${step.id} (${action.kind === 'agent' ? `agent ${action.backend}` : action.kind})`;
    }
    case 'parallel':
      return `${step.id} (at the same time: ${step.branches.map(inner).join(' | ')})`;
    case 'fan_out':
      return `${step.id} (for each item: ${inner(step.steps)})`;
    case 'loop':
      return `${step.id} (up to ${step.maxIterations} times: ${inner(step.steps)})`;
    default:
      return assertNever(step);
  }
}

function backendFindings({ file, at, loaded }: CheckContext): Finding[] {
  const { backend } = loaded.workflow.plan;
  const { steps = null, activities = null } = loaded.frontMatter;
  if (backend.source === 'built-in' && !saysAuto(steps) && !saysAuto(activities)) return [];
  const where = backend.source === 'runtime.backend' ? at(['runtime', 'backend']) : null;
  return [reporter('Steps', file)('note', 'backend', where, describeBackend(backend))];
}

function saysAuto(value: Json): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([key, item]) => (key === 'backend' && item === 'auto') || saysAuto(item as Json));
}

/** As the executor will look for it: the same folder, the same environment. */
async function commandFindings(context: CheckContext, actions: readonly ActionStep[]): Promise<Finding[]> {
  const { file, loaded, io } = context;
  const report = reporter('Steps', file);
  const used = new Map<string, { definition: ExecutorDefinition; step: ActionStep }>();
  for (const step of actions) {
    const definition =
      step.action.kind === 'external' ? loaded.workflow.plan.executors[step.action.executor] : undefined;
    if (definition !== undefined && !used.has(definition.name)) used.set(definition.name, { definition, step });
  }
  const found: Finding[] = [];
  for (const { definition, step } of used.values()) {
    const where = placeOf(step);
    const { name } = definition;
    try {
      const program = await findCommand(definition, { ...agentEnvironment(context).env, ...definition.env });
      found.push(report('note', 'executor_found', where, `the executor ${name} is ${program}`));
    } catch (thrown) {
      const { code, message } = toBatonError(thrown);
      // The message says what to do; the advice on this code is for a program that ran.
      found.push(report('error', code, where, message));
    }
    for (const [variable, written] of Object.entries(definition.env)) {
      const wanted = variableName(written);
      if (wanted === null || (io.env[wanted] ?? '').trim() !== '') continue;
      const message = `the executor ${name} gets ${variable} from $${wanted}, which is not set`;
      found.push(report('warning', 'variable_unseen', where, message, `Set ${wanted} where the daemon is started.`));
    }
  }
  return found;
}

/** What lies in the folders of capabilities and cannot be used. Of interest where some step uses capabilities. */
async function capabilityFindings(context: CheckContext, actions: readonly ActionStep[]): Promise<Finding[]> {
  const { file, at, loaded, io } = context;
  if (!actions.some(({ action }) => action.kind === 'capability')) return [];
  const { problems } = await discoverCapabilities({ projectDir: loaded.workflow.dir, homeDir: io.homeDir });
  const report = reporter('Steps', file);
  return problems.map(({ text }) => report('warning', 'capability_problem', at(['steps']), text));
}

/** Where a step stands, of its `WORKFLOW.md:31:5`. */
export function placeOf({ place }: Step): Position | null {
  const [, line, column] = /:(\d+):(\d+)$/.exec(place) ?? [];
  return line === undefined ? null : { line: Number(line), column: Number(column) };
}
