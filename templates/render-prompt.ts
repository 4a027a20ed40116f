import {
  CaptureTag,
  Context,
  type Emitter,
  type FS,
  filters,
  Liquid,
  LiquidError,
  Tag,
  type Template,
  toValue,
  toValueSync,
} from 'liquidjs';
import { BatonError } from '../src/domain/errors.js';
import type { Issue } from '../src/domain/issue.js';
import { isMap } from '../src/domain/json.js';
import { nearestWord } from '../src/domain/nearest-word.js';
import type { RunReason } from '../src/domain/run.js';
import type { PromptSource } from '../src/domain/steps/plan.js';
import { formatProblem, type Position, type WorkflowProblem } from '../src/domain/workflow.js';

/** Enough for thousands of comments. A template that needs more is a runaway loop. */
const MAX_OPERATIONS = 100_000;
/** Characters and array elements that filters, ranges and captures may create in one render. */
const MAX_ALLOCATIONS = 20_000_000;
/** The template itself, in characters. */
const MAX_TEMPLATE_LENGTH = 1_000_000;
/** Codex rejects input of more than 1,048,576 characters. */
export const MAX_PROMPT_LENGTH = 1_000_000;

/**
 * Stops a render after a fixed number of operations. liquidjs checks a time limit before every tag, output and text, and in every
 * round of a loop. Counting these checks instead makes the result independent of the speed of the machine.
 */
function limitOperations(context: Context, limit: number): void {
  let operations = 0;
  context.renderLimit.check = () => {
    operations += 1;
    if (operations > limit) throw new Error(`the render limit of ${limit} operations is exceeded`);
  };
}

/** Collects the output and throws when it grows too long. The output is never truncated. */
class BoundedOutput implements Emitter {
  buffer = '';
  readonly #onWrite: (length: number) => void;

  constructor(onWrite: (length: number) => void) {
    this.#onWrite = onWrite;
  }

  write(value: unknown): void {
    const plain = toValue(value);
    if (Array.isArray(plain)) {
      for (const element of plain) this.write(element);
      return;
    }
    if (plain === null || plain === undefined) return;
    const text = String(plain);
    this.#onWrite(text.length);
    this.buffer += text;
  }
}

/** The output of the whole prompt. */
function promptOutput(maxLength: number): BoundedOutput {
  let length = 0;
  return new BoundedOutput((added) => {
    length += added;
    if (length > maxLength) {
      throw new BatonError(
        'prompt_too_large',
        `the rendered prompt is longer than ${maxLength} characters: shorten the template, or the text of the issue`,
      );
    }
  });
}

/** Liquid without files and prototypes, where an unknown variable is an error. */
function strictLiquid(): Liquid {
  const liquid = new Liquid({
    strictVariables: true,
    strictFilters: true,
    ownPropertyOnly: true,
    dynamicPartials: false,
    relativeReference: false,
    cache: false,
    // The same names of months on every machine. Asking for the locale of this one takes longer than all the rest here.
    locale: 'en-US',
    fs: NO_FILES,
    parseLimit: MAX_TEMPLATE_LENGTH,
    memoryLimit: MAX_ALLOCATIONS,
  });
  for (const name of ['include', 'render', 'layout', 'block']) liquid.registerTag(name, RefusedTag);
  liquid.registerTag('capture', BoundedCapture);
  return liquid;
}

const refuse = (): never => {
  throw new Error('a prompt cannot read files');
};

// The tags that read files are rejected below. This rejects any other access.
const NO_FILES: FS = {
  exists: async () => false,
  existsSync: () => false,
  readFile: async () => refuse(),
  readFileSync: refuse,
  resolve: refuse,
  contains: async () => false,
  containsSync: () => false,
};

class RefusedTag extends Tag {
  constructor(...[token, remaining, liquid]: ConstructorParameters<typeof Tag>) {
    super(token, remaining, liquid);
    throw new Error(
      `{% ${token.name} %} is not available: a prompt cannot read files, so write the text into WORKFLOW.md`,
    );
  }

  override render(): never {
    return refuse();
  }
}

/** The stock tag does not count towards the memory limit, so a variable that captures itself twice would double without end. */
class BoundedCapture extends CaptureTag {
  override *render(context: Context): Generator<unknown, void, string> {
    const output = new BoundedOutput((length) => context.memoryLimit.use(length));
    yield this.liquid.renderer.renderTemplates(this.templates, context, output);
    Object.defineProperty(context.bottom(), this.variable, {
      value: output.buffer,
      configurable: true,
      enumerable: true,
      writable: true,
    });
  }
}

/** The variables of a prompt. `attempt` is null on the first run of a claim. */
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
  /** Throws `template_render_error` or `prompt_too_large`. Liquid inside the text of an issue is not evaluated. */
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

type TemplateErrorCode = 'template_parse_error' | 'template_render_error';

/** Names the place in WORKFLOW.md, and the variable or filter that was probably meant. */
function templateError(code: TemplateErrorCode, error: unknown, source: PromptSource, values: object = {}): BatonError {
  const original = LiquidError.is(error) ? (error.originalError ?? error) : error;
  // liquidjs wraps our own errors, which say what happened better than a template error would.
  if (original instanceof BatonError) return original;
  const reason = withoutPosition(original instanceof Error ? original.message : String(original));
  const text = `${reason}${suggestion(reason, values)}`;
  if (!LiquidError.is(error)) return new BatonError(code, `${source.file} ${text}`, {}, { cause: error });
  const at = positionOf(error, source);
  if (source.startLine === 0) {
    const message = `${source.file} (built-in prompt):${at.line}:${at.column} ${text}`;
    return new BatonError(code, message, { ...at }, { cause: error });
  }
  const problem: WorkflowProblem = { code, params: {}, file: source.file, at, text };
  return new BatonError(code, formatProblem(problem), { ...at, problems: [problem] }, { cause: error });
}

/** Of the built-in prompt, which is in no file, the position is that within the prompt. */
function positionOf(error: LiquidError, { startLine, startColumn = 1, isFolded = false }: PromptSource): Position {
  const [line, column] = error.token.getPosition() as [number, number];
  if (startLine === 0) return { line, column };
  if (isFolded) return { line: startLine, column: startColumn };
  return { line: startLine + line - 1, column: startColumn + column - 1 };
}

/** Removes the position within the body, which liquidjs appends. */
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
