import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { allSteps } from '../src/domain/steps/plan.js';
import type { Workflow } from '../src/domain/workflow.js';
import { compilePrompt, type Prompt, type PromptValues } from './render-prompt.js';

/** Parses every prompt of a workflow and its steps. Throws `template_parse_error`. */
export function compilePrompts({ prompt, plan }: Pick<Workflow, 'prompt' | 'plan'>): void {
  compilePrompt(prompt);
  for (const step of allSteps(plan.steps))
    if (step.shape === 'action' && step.action.kind === 'agent') compilePrompt(step.action.prompt);
}

/** The variables of the prompt for further turns. */
export interface ContinuationValues extends PromptValues {
  /** 2, 3, … */
  readonly turn: number;
  readonly max_turns: number;
}

/** The prompt for turns after the first, on the same thread. */
export function loadContinuation(): Prompt<ContinuationValues> {
  const file = fileURLToPath(new URL('continuation.liquid', import.meta.url));
  return compilePrompt<ContinuationValues>({ text: readFileSync(file, 'utf8').trim(), startLine: 1, file });
}
