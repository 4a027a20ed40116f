import type { Clock } from '../../src/domain/clock.js';
import { assertNever, type Json, type JsonObject } from '../../src/domain/json.js';
import type { Action, PromptSource, RenderedAction } from '../../src/domain/steps/plan.js';
import { renderText, renderValue, type Scope } from '../../src/domain/steps/tokens.js';
import type { ThreadMessage } from '../executors/executor.js';

/** What a run begins with: everything that `${…}` can name before the first step. */
interface RunFacts {
  readonly issue: JsonObject;
  readonly attempt: number | null;
  readonly run: { readonly id: string; readonly number: number; readonly reason: string; readonly workspace: string };
}

interface Books {
  readonly steps: Map<string, JsonObject>;
  readonly state: Map<string, Json>;
}

/**
 * The data between steps. Goes of a loop share it; each worker of a fan-out has a copy, so that workers do not see each other and
 * leave nothing behind but their result.
 */
export class RunScope {
  private constructor(
    private readonly facts: RunFacts,
    private readonly inputs: Json,
    private readonly books: Books,
    private readonly extras: JsonObject,
  ) {}

  /** Throws `step_data_error` where an input names what is not there. */
  static begin(facts: RunFacts, inputs: JsonObject): RunScope {
    const known = { issue: facts.issue, attempt: facts.attempt, run: { ...facts.run, step_index: 0 } };
    return new RunScope(facts, renderValue(inputs, known), { steps: new Map(), state: new Map() }, {});
  }

  inLoop(extras: JsonObject): RunScope {
    return new RunScope(this.facts, this.inputs, this.books, { ...this.extras, ...extras });
  }

  inWorker(extras: JsonObject): RunScope {
    const { steps, state } = this.books;
    const copy = { steps: new Map(steps), state: new Map(state) };
    return new RunScope(this.facts, this.inputs, copy, { ...this.extras, ...extras });
  }

  record(stepId: string, outputTo: string | null, output: Json, context: Json = null): void {
    this.books.steps.set(stepId, { output, context });
    if (outputTo !== null) this.books.state.set(outputTo, output);
  }

  outputOf(stepId: string): Json {
    return this.books.steps.get(stepId)?.output ?? null;
  }

  values(stepIndex: number): Scope {
    return {
      issue: this.facts.issue,
      attempt: this.facts.attempt,
      run: { ...this.facts.run, step_index: stepIndex },
      inputs: this.inputs,
      steps: Object.fromEntries(this.books.steps),
      state: Object.fromEntries(this.books.state),
      ...this.extras,
    };
  }
}

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

const PREVIEW_BYTES = 1_000;
/** An output has several texts, stdout and stderr: together they may be larger than one. */
const WHOLE_PER_TEXT = 4;

/**
 * What later steps see of an output: texts of over `maxBytes` are cut, and a member beside them says so (`stdout_truncated: true`).
 * What is too large even then is replaced by its beginning. The transcript has it all. Pure; the result survives a round trip
 * through JSON.
 */
export function cutOutput(output: unknown, maxBytes: number): Json {
  const whole = toJson(output);
  const cut = cutTexts(whole, maxBytes);
  const text = JSON.stringify(cut);
  if (Buffer.byteLength(text) <= maxBytes * WHOLE_PER_TEXT || typeof cut === 'string') return cut;
  return beginningOf(text, Buffer.byteLength(JSON.stringify(whole)), maxBytes);
}

/** The outputs of branches in their order. As soon as they are too large together no more are kept: a thousand are held at no time. */
export class OutputList {
  readonly #outputs: Json[];
  #bytes = 0;

  constructor(
    length: number,
    private readonly maxBytes: number,
  ) {
    this.#outputs = new Array<Json>(length).fill(null);
  }

  put(index: number, output: Json): void {
    this.#bytes += Buffer.byteLength(JSON.stringify(output));
    if (this.#isWhole()) this.#outputs[index] = output;
  }

  get all(): Json {
    return this.#isWhole() ? this.#outputs : beginningOf(JSON.stringify(this.#outputs), this.#bytes, this.maxBytes);
  }

  #isWhole(): boolean {
    return this.#bytes <= this.maxBytes * WHOLE_PER_TEXT;
  }
}

function beginningOf(text: string, bytes: number, maxBytes: number): Json {
  return { truncated: true, bytes, preview: headOf(text, Math.min(maxBytes, PREVIEW_BYTES)) };
}

/** Numbers that JSON does not know become null, members that it does not know are left out. */
function toJson(value: unknown): Json {
  try {
    const text = JSON.stringify(value);
    return text === undefined ? null : (JSON.parse(text) as Json);
  } catch {
    return null; // A cycle, or a BigInt: no executor gives such a thing, and none may break a run with it.
  }
}

function cutTexts(value: Json, maxBytes: number): Json {
  if (typeof value === 'string') return headOf(value, maxBytes);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => cutTexts(item as Json, maxBytes));
  const entries = Object.entries(value as JsonObject).flatMap(([key, item]): [string, Json][] => {
    const cut = cutTexts(item, maxBytes);
    return typeof item === 'string' && cut !== item
      ? [
          [key, cut],
          [`${key}_truncated`, true],
        ]
      : [[key, cut]];
  });
  return Object.fromEntries(entries);
}

/** Whole characters only. */
function headOf(text: string, maxBytes: number): string {
  if (text.length <= maxBytes / 3 || Buffer.byteLength(text) <= maxBytes) return text;
  const bytes = Buffer.from(text).subarray(0, maxBytes);
  return new TextDecoder().decode(bytes).replace(/\uFFFD+$/, '');
}

/** A loop goes on for hours, and all of this is sent with each call of a capability. */
const MAX_LENGTH = 1_000_000;

/**
 * The conversation of a run as capability executors see it: what was asked, then what each finished step gave. Where that becomes
 * too long, the oldest of the steps are left out.
 */
export class ThreadMessages {
  readonly #messages: ThreadMessage[] = [];
  #count = 0;
  #length = 0;

  constructor(
    private readonly runId: string,
    private readonly clock: Clock,
  ) {}

  asked(prompt: string): void {
    this.#add('user', prompt);
  }

  said(stepId: string, output: Json): void {
    this.#add('agent', `${stepId}: ${typeof output === 'string' ? output : JSON.stringify(output)}`);
  }

  get all(): readonly ThreadMessage[] {
    return [...this.#messages];
  }

  #add(sender: ThreadMessage['sender'], content: string): void {
    const messageId = `${this.runId}-${++this.#count}`;
    this.#messages.push({ messageId, content, sender, timestamp: new Date(this.clock.now().wallMs).toISOString() });
    this.#length += content.length;
    while (this.#length > MAX_LENGTH && this.#messages.length > 2) {
      const [oldest] = this.#messages.splice(1, 1);
      this.#length -= oldest?.content.length ?? 0;
    }
  }
}
