import type { PromptSource } from '../../src/domain/config.js';
import { assertNever, type Json, type JsonObject } from '../../src/domain/json.js';
import type { Action, RenderedAction } from '../../src/domain/steps/plan.js';
import { renderText, renderValue, type Scope } from '../../src/domain/steps/tokens.js';

/** Liquid, with the roots of the scope as its variables. Throws `BatonError`. */
export type RenderPrompt = (source: PromptSource, scope: Scope) => string;

/**
 * Fills in the data of the run, in the places that may hold such data and nowhere else: commands, arguments, names and URLs are what
 * WORKFLOW.md says. Throws `BatonError`.
 */
export function renderAction(action: Action, scope: Scope, renderPrompt: RenderPrompt): RenderedAction {
  const map = (value: JsonObject) => renderValue(value, scope) as JsonObject;
  const texts = (values: { readonly [name: string]: string }) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, renderText(value, scope)]));
  switch (action.kind) {
    case 'agent': {
      if (action.backend === 'cli') return { ...action, prompt: renderPrompt(action.prompt, scope) };
      const { prompt, input, ...rest } = action;
      return { ...rest, input: input === null ? { prompt: renderPrompt(prompt, scope) } : map(input) };
    }
    case 'external':
      return { ...action, input: map(action.input), memory: map(action.memory), envSet: texts(action.envSet) };
    case 'capability':
      return { ...action, params: map(action.params) };
    case 'llm':
      return { ...action, prompt: renderText(action.prompt, scope) };
    case 'tool':
      return { ...action, args: map(action.args) };
    case 'code': {
      const stdin: Json = renderValue(action.stdin, scope);
      return { ...action, source: renderText(action.source, scope), env: texts(action.env), stdin };
    }
    default:
      return assertNever(action);
  }
}
