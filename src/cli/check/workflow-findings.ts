import { dirname, join } from 'node:path';
import { Drop } from 'liquidjs';
import { discoverCapabilities } from '../../../runner/executors/capability/definitions.js';
import { findCommand } from '../../../runner/executors/external/find-command.js';
import { promptValues } from '../../../runner/run-prompts.js';
import { compilePrompt, type PromptValues } from '../../../templates/render-prompt.js';
import { ERRORS } from '../../domain/error-table.js';
import { isErrorCode, toBatonError } from '../../domain/errors.js';
import { assertNever, type Json } from '../../domain/json.js';
import {
  type ActionStep,
  allSteps,
  type ExecutorDefinition,
  type Plan,
  type PromptSource,
  type Step,
} from '../../domain/steps/plan.js';
import { renderValue } from '../../domain/steps/tokens.js';
import { type Position, problemsOf, type WorkflowProblem } from '../../domain/workflow.js';
import { BUILT_IN_PROMPT } from '../../workflow/load-workflow.js';
import { FILE_START } from '../../workflow/positions.js';
import { variableName } from '../../workflow/secrets.js';
import { describeBackend } from '../../workflow/steps/resolve-backend.js';
import { isOfCutOutput, outputMembers } from '../../workflow/steps/step-schema.js';
import { sampleAgentEnvironment } from './agent-findings.js';
import { BARE_ISSUE, type CheckContext, type Finding, reporter, SAMPLE_ISSUE, type WorkflowText } from './finding.js';

/** One finding for each problem of an error that the loader threw. `name` is the file's name in messages. */
export function loadErrors(thrown: unknown, name: string, file: string): Finding[] {
  const report = reporter('Workflow', file);
  const error = toBatonError(thrown);
  const problems = problemsOf(error);
  if (error.code === 'missing_workflow_file') {
    return [report('error', error.code, null, error.message, '`init` writes one for this folder.')];
  }
  if (problems.length === 0) {
    return [report('error', error.code, FILE_START, error.message, ERRORS[error.code].action)];
  }
  return problems.map((problem) => {
    const { code, at, text } = problem;
    // An unknown key does no harm, but it can explain a missing one.
    if (!isErrorCode(code)) return report('warning', code, at, text);
    const finding = report('error', code, problem.file === null ? null : at, text, ERRORS[code].action);
    return { ...finding, file: fileOf(problem, name, file) };
  });
}

export function loadWarnings(warnings: readonly WorkflowProblem[], name: string, file: string): Finding[] {
  const report = reporter('Workflow', file);
  return warnings.map((warning) => ({
    ...report('warning', 'workflow_warning', warning.at, warning.text),
    file: fileOf(warning, name, file),
  }));
}

/** Problems name a definition of the project by its path from the folder of WORKFLOW.md. */
function fileOf(problem: WorkflowProblem, name: string, file: string): string {
  if (problem.file === null || problem.file === name) return file;
  return problem.file.startsWith('~') ? problem.file : join(dirname(file), problem.file);
}

/**
 * Compiles the prompt, and renders it for a complete and a minimal issue, on the first run and a later one. With steps, the prompt may
 * refer to their outputs, so `stepPromptFindings` renders it.
 */
export function promptFindings({ file, frontMatter }: WorkflowText): Finding[] {
  const report = reporter('Workflow', file);
  const isBuiltIn = frontMatter.body === '';
  const hasSteps = (frontMatter.values.steps ?? null) !== null;
  const source: PromptSource = isBuiltIn
    ? { text: BUILT_IN_PROMPT, startLine: 0, file }
    : { text: frontMatter.body, startLine: frontMatter.bodyStartLine, file };
  try {
    const prompt = compilePrompt(source);
    if (!hasSteps) for (const values of samples()) prompt.render(values);
  } catch (thrown) {
    const error = toBatonError(thrown);
    const [problem] = problemsOf(error);
    const at = problem?.at ?? { line: Math.max(1, frontMatter.bodyStartLine), column: 1 };
    const message = `the prompt fails: ${problem?.text ?? error.message}`;
    return [report('error', error.code, at, message, ERRORS[error.code].action)];
  }
  if (!isBuiltIn || hasSteps) return [];
  const advice = 'Write the task of the agent below the second `---`.';
  return [report('note', 'built_in_prompt', null, 'there is no prompt, so the built-in one is used', advice)];
}

function samples(): PromptValues[] {
  const workflow = { path: '/project/WORKFLOW.md', dir: '/project' };
  return [SAMPLE_ISSUE, BARE_ISSUE].flatMap((issue) => [
    promptValues({ issue, attempt: null, runId: 'check-1', number: 1, reason: 'first' }, workflow, '/workspaces/AB-1'),
    promptValues({ issue, attempt: 1, runId: 'check-2', number: 2, reason: 'retry' }, workflow, '/workspaces/AB-1'),
  ]);
}

/** Describes the plan, and checks the programs that it starts. */
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
  if (backend.source === 'built-in' && !usesAuto(steps) && !usesAuto(activities)) return [];
  const where = backend.source === 'runtime.backend' ? at(['runtime', 'backend']) : null;
  return [reporter('Steps', file)('note', 'backend', where, describeBackend(backend))];
}

function usesAuto(value: Json): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([key, item]) => (key === 'backend' && item === 'auto') || usesAuto(item as Json));
}

/** Looks the command up as the executor does: same folder, same environment. */
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
    const where = positionOf(step);
    const { name } = definition;
    try {
      const program = await findCommand(definition, { ...sampleAgentEnvironment(context).env, ...definition.env });
      found.push(report('note', 'executor_found', where, `the executor ${name} is ${program}`));
    } catch (thrown) {
      const { code, message } = toBatonError(thrown);
      // The message contains the advice. The advice for this code is about a program that ran.
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

/** Invalid entries of the capability folders, if a step uses capabilities. */
async function capabilityFindings(context: CheckContext, actions: readonly ActionStep[]): Promise<Finding[]> {
  const { file, at, loaded, io } = context;
  if (!actions.some(({ action }) => action.kind === 'capability')) return [];
  const { problems } = await discoverCapabilities({ projectDir: loaded.workflow.dir, homeDir: io.homeDir });
  const report = reporter('Steps', file);
  return problems.map(({ text }) => report('warning', 'capability_problem', at(['steps']), text));
}

/** Parses the position of a step, such as `WORKFLOW.md:31:5`. */
function positionOf({ place }: Step): Position | null {
  const [, line, column] = /:(\d+):(\d+)$/.exec(place) ?? [];
  return line === undefined ? null : { line: Number(line), column: Number(column) };
}

/** Compiles the prompt of every agent step, and renders it with samples. Outputs of steps are not known before a run. */
function stepPromptFindings({ file, at, loaded }: CheckContext): Finding[] {
  const { plan, prompt: body } = loaded.workflow;
  const report = reporter('Steps', file);
  const findings: Finding[] = [];
  const prompts = [...promptsOf(plan.steps, { before: [], hasItem: false, hasIteration: false })];
  for (const { step, source, scope } of prompts) {
    const fault = faultOf(source, plan, scope);
    // `promptFindings` compiles the body and reports its faults.
    if (fault === null || (source.text === body.text && fault.code === 'template_parse_error')) continue;
    const [problem] = problemsOf(fault);
    const message = `step "${step.id}": the prompt fails: ${problem?.text ?? fault.message}`;
    findings.push(report('error', fault.code, problem?.at ?? null, message, ERRORS[fault.code].action));
  }
  const isBodyUsed = prompts.some(({ source }) => source.text === body.text);
  if (body.startLine > 0 && !isBodyUsed) {
    const advice = 'Remove it, or remove the `prompt` of an agent step.';
    const message = 'no step uses the text below the front matter';
    findings.push(report('warning', 'unused_prompt', at(['steps']), message, advice));
  }
  return findings;
}

/** The data that a prompt can refer to at its position in the plan. */
interface PromptScope {
  readonly before: readonly Step[];
  readonly hasItem: boolean;
  readonly hasIteration: boolean;
}

function* promptsOf(
  steps: readonly Step[],
  scope: PromptScope,
): Generator<{ step: Step; source: PromptSource; scope: PromptScope }> {
  let before = scope.before;
  for (const step of steps) {
    const here = { ...scope, before };
    if (step.shape === 'parallel') for (const branch of step.branches) yield* promptsOf(branch, here);
    else if (step.shape === 'fan_out') yield* promptsOf(step.steps, { ...here, hasItem: true });
    else if (step.shape === 'loop') {
      const hasItem = scope.hasItem || step.items !== null;
      yield* promptsOf(step.steps, { before: [...before, ...afterwards(step.steps)], hasItem, hasIteration: true });
    } else if (step.action.kind === 'agent' && (step.action.backend === 'cli' || step.action.input === null))
      yield { step, source: step.action.prompt, scope: here };
    before = [...before, ...afterwards([step])];
  }
}

/** The steps whose outputs are visible after these steps. Steps inside a fan_out are not. */
function afterwards(steps: readonly Step[]): Step[] {
  return steps.flatMap((step) => {
    if (step.shape === 'parallel') return [step, ...afterwards(step.branches.flat())];
    return step.shape === 'loop' ? [step, ...afterwards(step.steps)] : [step];
  });
}

function faultOf(source: PromptSource, plan: Plan, { before, hasItem, hasIteration }: PromptScope) {
  try {
    const prompt = compilePrompt<object>(source);
    const outputs = outputsOf(before);
    for (const { issue, attempt, run: facts, workflow } of samples()) {
      const run = { ...facts, step_index: 0 };
      const inputs = renderValue(plan.inputs, { issue: issue as unknown as Json, attempt, run });
      const extras = { ...(hasItem ? { item: new AnyData() } : {}), ...(hasIteration ? { iteration: 1 } : {}) };
      prompt.render({ issue, attempt, run, workflow, inputs, ...outputs, ...extras });
    }
    return null;
  } catch (thrown) {
    return toBatonError(thrown);
  }
}

function outputsOf(steps: readonly Step[]) {
  const outputs = steps.map((step) => ({ step, output: new AnyData(membersOf(step)) }));
  return {
    steps: Object.fromEntries(outputs.map(({ step, output }) => [step.id, { output, context: new AnyData() }])),
    state: Object.fromEntries(
      outputs.flatMap(({ step, output }) => (step.outputTo === null ? [] : [[step.outputTo, output]])),
    ),
  };
}

function membersOf(step: Step): readonly string[] | null {
  if (step.shape !== 'action') return outputMembers(step.shape, null);
  const { action } = step;
  return outputMembers(action.kind, action.kind === 'agent' ? action.backend : null);
}

/** A sample of a step's output: it has the known members, or else every member, is a list with one entry, and prints as text. */
class AnyData extends Drop {
  constructor(readonly members: readonly string[] | null = null) {
    super();
  }

  override liquidMethodMissing(name: string | number): AnyData | undefined {
    const isThere = this.members === null || this.members.includes(String(name)) || isOfCutOutput(String(name));
    return isThere ? new AnyData() : undefined;
  }

  *[Symbol.iterator](): Generator<AnyData> {
    yield new AnyData();
  }

  override toString(): string {
    return 'sample';
  }
}
