import { filters, LiquidError } from 'liquidjs';
import type { PromptSource } from '../src/domain/config.js';
import { BatonError } from '../src/domain/errors.js';
import { nearestWord } from '../src/text/nearest-word.js';

type TemplateErrorCode = 'template_parse_error' | 'template_render_error';

/** Says where in WORKFLOW.md a template went wrong, and what was probably meant. */
export function templateError(
  code: TemplateErrorCode,
  error: unknown,
  source: PromptSource,
  values: object = {},
): BatonError {
  const original = LiquidError.is(error) ? (error.originalError ?? error) : error;
  // Our own errors travel through liquidjs wrapped; they say what happened better than a template error would.
  if (original instanceof BatonError) return original;
  const text = withoutPosition(original instanceof Error ? original.message : String(original));
  const position = LiquidError.is(error) ? placeOf(error, source) : null;
  const where = position === null ? source.file : `${source.file}${position.label}`;
  const message = `${where} ${text}${suggestion(text, values)}`;
  return new BatonError(code, message, { line: position?.line, column: position?.column }, { cause: error });
}

function placeOf(error: LiquidError, source: PromptSource) {
  const [bodyLine, bodyColumn] = error.token.getPosition() as [number, number];
  if (source.startLine === 0)
    return { line: bodyLine, column: bodyColumn, label: ` (built-in prompt):${bodyLine}:${bodyColumn}` };
  const { startLine, startColumn = 1, isFolded = false } = source;
  if (isFolded) return { line: startLine, column: startColumn, label: `:${startLine}:${startColumn}` };
  const line = startLine + bodyLine - 1;
  const column = startColumn + bodyColumn - 1;
  return { line, column, label: `:${line}:${column}` };
}

/** liquidjs appends the position within the body, which would contradict ours. */
function withoutPosition(message: string): string {
  return message.replace(/(, file:.*)?, line:\d+, col:\d+$/s, '');
}

function suggestion(text: string, values: object): string {
  const variable = /^undefined variable: (.+)$/s.exec(text)?.[1];
  if (variable !== undefined) return variableHint(variable.split('.'), values);
  const filter = /^undefined filter: (.+)$/s.exec(text)?.[1];
  return filter === undefined ? '' : hint(nearestWord(filter, Object.keys(filters)), '');
}

function variableHint(path: readonly string[], values: object): string {
  let scope: unknown = values;
  for (const name of path.slice(0, -1)) {
    if (!isMap(scope) || !Object.hasOwn(scope, name)) return '';
    scope = scope[name];
  }
  if (!isMap(scope)) return '';
  const prefix = path.slice(0, -1).map((name) => `${name}.`);
  return hint(nearestWord(path.at(-1) ?? '', Object.keys(scope)), prefix.join(''));
}

function hint(name: string | null, prefix: string): string {
  return name === null ? '' : `; did you mean "${prefix}${name}"?`;
}

function isMap(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
