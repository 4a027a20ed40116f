import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { allSteps } from '../src/domain/steps/plan.js';
import type { Workflow } from '../src/domain/workflow.js';
import { compilePrompt, type Prompt, type PromptValues } from './render-prompt.js';

/** Every prompt of a workflow, its steps' included, parsed once. Throws `template_parse_error`. */
export function compilePrompts({ prompt, plan }: Pick<Workflow, 'prompt' | 'plan'>): void {
  compilePrompt(prompt);
  for (const step of allSteps(plan.steps))
    if (step.shape === 'action' && step.action.kind === 'agent') compilePrompt(step.action.prompt);
}

/** What the guidance of a further turn can name, on top of the values of the first prompt. */
export interface ContinuationValues extends PromptValues {
  /** 2, 3, … */
  readonly turn: number;
  readonly max_turns: number;
}

/** The guidance for turns after the first, on the same thread. */
export function loadContinuation(): Prompt<ContinuationValues> {
  const file = fileURLToPath(new URL('continuation.liquid', import.meta.url));
  return compilePrompt<ContinuationValues>({ text: readFileSync(file, 'utf8').trim(), startLine: 1, file });
}
