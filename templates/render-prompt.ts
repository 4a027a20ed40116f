import { Context, type Template, toValueSync } from 'liquidjs';
import type { PromptSource } from '../src/domain/config.js';
import type { RunReason } from '../src/domain/effects.js';
import type { Issue } from '../src/domain/issue.js';
import { limitOperations, MAX_OPERATIONS, MAX_PROMPT_LENGTH, promptOutput } from './render-limits.js';
import { strictLiquid } from './strict-liquid.js';
import { templateError } from './template-error.js';

/** What a prompt can name. `attempt` is null on the first run of a claim. */
export interface PromptValues {
  readonly issue: Issue;
  readonly attempt: number | null;
  readonly run: {
    readonly id: string;
    readonly number: number;
    readonly reason: RunReason;
    /** Path of the workspace. */
    readonly workspace: string;
  };
  readonly workflow: { readonly path: string; readonly dir: string };
}

export interface Prompt<Values extends object = PromptValues> {
  /** Throws `template_render_error` or `prompt_too_large`. The text of an issue is data: Liquid inside it stays as written. */
  render(values: Values): string;
}

/** Parses once; throws `template_parse_error` with line and column in WORKFLOW.md. */
export function compilePrompt<Values extends object = PromptValues>(source: PromptSource): Prompt<Values> {
  const templates = parse(source);
  return { render: (values) => render(templates, source, values) };
}

const liquid = strictLiquid();

function parse(source: PromptSource): Template[] {
  try {
    return liquid.parse(source.text);
  } catch (error) {
    throw templateError('template_parse_error', error, source);
  }
}

function render(templates: Template[], source: PromptSource, values: object): string {
  // A copy, because {% increment %} writes into the outermost scope.
  const context = new Context({ ...values }, liquid.options, { sync: true }, { liquid });
  limitOperations(context, MAX_OPERATIONS);
  const output = promptOutput(MAX_PROMPT_LENGTH);
  try {
    toValueSync(liquid.renderer.renderTemplates(templates, context, output));
    return output.buffer;
  } catch (error) {
    throw templateError('template_render_error', error, source, values);
  }
}
