import type { Workflow } from '../src/domain/config.js';
import { allSteps } from '../src/domain/steps/plan.js';
import { compilePrompt } from './render-prompt.js';

/** Every prompt of a workflow, its steps' included, parsed once. Throws `template_parse_error`. */
export function compilePrompts({ prompt, plan }: Pick<Workflow, 'prompt' | 'plan'>): void {
  compilePrompt(prompt);
  for (const step of allSteps(plan.steps))
    if (step.shape === 'action' && step.action.kind === 'agent') compilePrompt(step.action.prompt);
}
