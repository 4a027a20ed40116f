import { Drop } from 'liquidjs';
import { compilePrompt } from '../../../templates/render-prompt.js';
import type { PromptSource } from '../../domain/config.js';
import { ERRORS } from '../../domain/error-table.js';
import { toBatonError } from '../../domain/errors.js';
import type { Json } from '../../domain/json.js';
import type { Plan, Step } from '../../domain/steps/plan.js';
import { renderValue } from '../../domain/steps/tokens.js';
import { parseProblem } from '../../workflow/positions.js';
import { isOfCutOutput, outputMembers } from '../../workflow/steps/output-members.js';
import type { CheckContext } from './check-context.js';
import { type Finding, reporter } from './finding.js';
import { samples } from './workflow-findings.js';

/** Does every prompt of an agent step compile, and render with what will be there? What steps give is not known before a run. */
export function stepPromptFindings({ file, at, loaded }: CheckContext): Finding[] {
  const { plan, prompt: body } = loaded.workflow;
  const report = reporter('Steps', file);
  const findings: Finding[] = [];
  const prompts = [...promptsOf(plan.steps, { before: [], hasItem: false, hasIteration: false })];
  for (const { step, source, place } of prompts) {
    const fault = faultOf(source, plan, place);
    // The body is compiled with the rest of the file, and told there.
    if (fault === null || (source.text === body.text && fault.code === 'template_parse_error')) continue;
    const problem = parseProblem(source.file, fault.message);
    const message = `step "${step.id}": the prompt fails: ${problem?.text ?? fault.message}`;
    findings.push(report('error', fault.code, problem?.at ?? null, message, ERRORS[fault.code].action));
  }
  const isBodyUsed = prompts.some(({ source }) => source.text === body.text);
  if (body.startLine > 0 && !isBodyUsed) {
    const advice = 'Remove it, or let an agent step have no `prompt` of its own.';
    const message = 'no step uses the text below the front matter';
    findings.push(report('warning', 'unused_prompt', at(['steps']), message, advice));
  }
  return findings;
}

/** What a prompt can name at its place in the plan. */
interface Place {
  readonly before: readonly Step[];
  readonly hasItem: boolean;
  readonly hasIteration: boolean;
}

function* promptsOf(
  steps: readonly Step[],
  place: Place,
): Generator<{ step: Step; source: PromptSource; place: Place }> {
  let before = place.before;
  for (const step of steps) {
    const here = { ...place, before };
    if (step.shape === 'parallel') for (const branch of step.branches) yield* promptsOf(branch, here);
    else if (step.shape === 'fan_out') yield* promptsOf(step.steps, { ...here, hasItem: true });
    else if (step.shape === 'loop') {
      const hasItem = place.hasItem || step.items !== null;
      yield* promptsOf(step.steps, { before: [...before, ...afterwards(step.steps)], hasItem, hasIteration: true });
    } else if (step.action.kind === 'agent' && (step.action.backend === 'cli' || step.action.input === null))
      yield { step, source: step.action.prompt, place: here };
    before = [...before, ...afterwards([step])];
  }
}

/** What can be named after these steps: what is inside a fan_out stays there. */
function afterwards(steps: readonly Step[]): Step[] {
  return steps.flatMap((step) => {
    if (step.shape === 'parallel') return [step, ...afterwards(step.branches.flat())];
    return step.shape === 'loop' ? [step, ...afterwards(step.steps)] : [step];
  });
}

function faultOf(source: PromptSource, plan: Plan, { before, hasItem, hasIteration }: Place) {
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

/** Stands for what a step will give: it has the members that are known, or else every one, is a list of one, and prints as some text. */
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
