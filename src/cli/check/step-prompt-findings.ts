import { Drop } from 'liquidjs';
import { compilePrompt } from '../../../templates/render-prompt.js';
import type { PromptSource } from '../../domain/config.js';
import { ERRORS } from '../../domain/error-table.js';
import { toBatonError } from '../../domain/errors.js';
import type { Json } from '../../domain/json.js';
import { allSteps, type Plan, type Step } from '../../domain/steps/plan.js';
import { renderValue } from '../../domain/steps/tokens.js';
import { parseProblem } from '../../workflow/positions.js';
import type { CheckContext } from './check-context.js';
import { type Finding, reporter } from './finding.js';
import { samples } from './workflow-findings.js';

/** Does every prompt of an agent step compile, and render with what will be there? What steps give is not known before a run. */
export function stepPromptFindings({ file, at, loaded }: CheckContext): Finding[] {
  const { plan, prompt: body } = loaded.workflow;
  const report = reporter('Steps', file);
  const findings: Finding[] = [];
  const prompts = [...promptsOf(plan.steps, { hasItem: false, hasIteration: false })];
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
    const message = 'no step uses the text below the front matter: each agent step has a prompt of its own';
    findings.push(report('warning', 'unused_prompt', at(['steps']), message, 'Remove it, or the prompt of a step.'));
  }
  return findings;
}

interface Place {
  readonly hasItem: boolean;
  readonly hasIteration: boolean;
}

function* promptsOf(
  steps: readonly Step[],
  place: Place,
): Generator<{ step: Step; source: PromptSource; place: Place }> {
  for (const step of steps) {
    if (step.shape === 'parallel') for (const branch of step.branches) yield* promptsOf(branch, place);
    else if (step.shape === 'fan_out') yield* promptsOf(step.steps, { ...place, hasItem: true });
    else if (step.shape === 'loop')
      yield* promptsOf(step.steps, { hasItem: place.hasItem || step.items !== null, hasIteration: true });
    else if (step.action.kind === 'agent' && (step.action.backend === 'cli' || step.action.input === null))
      yield { step, source: step.action.prompt, place };
  }
}

function faultOf(source: PromptSource, plan: Plan, { hasItem, hasIteration }: Place) {
  try {
    const prompt = compilePrompt<object>(source);
    for (const { issue, attempt, run: facts, workflow } of samples()) {
      const run = { ...facts, step_index: 0 };
      const inputs = renderValue(plan.inputs, { issue: issue as unknown as Json, attempt, run });
      const extras = { ...(hasItem ? { item: new AnyData() } : {}), ...(hasIteration ? { iteration: 1 } : {}) };
      prompt.render({ issue, attempt, run, workflow, inputs, ...outputsOf(plan), ...extras });
    }
    return null;
  } catch (thrown) {
    return toBatonError(thrown);
  }
}

function outputsOf({ steps }: Plan) {
  const all = [...allSteps(steps)];
  return {
    steps: Object.fromEntries(all.map(({ id }) => [id, { output: new AnyData(), context: new AnyData() }])),
    state: Object.fromEntries(all.flatMap(({ outputTo }) => (outputTo === null ? [] : [[outputTo, new AnyData()]]))),
  };
}

/** Stands for what a step will give: it has every member, is a list of one, and prints as some text. */
class AnyData extends Drop {
  override liquidMethodMissing(): AnyData {
    return new AnyData();
  }

  *[Symbol.iterator](): Generator<AnyData> {
    yield new AnyData();
  }

  override toString(): string {
    return 'sample';
  }
}
