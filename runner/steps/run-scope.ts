import type { Clock } from '../../src/domain/clock.js';
import { assertNever, type Json, type JsonObject } from '../../src/domain/json.js';
import type { Action, RenderedAction } from '../../src/domain/steps/plan.js';
import { renderText, renderValue, type Scope } from '../../src/domain/steps/tokens.js';
import type { ThreadMessage } from '../executors/executor.js';
import type { RunPrompts } from '../run-prompts.js';

/** Everything that `${…}` can name before the first step. */
interface RunFacts {
  readonly issue: JsonObject;
  readonly attempt: number | null;
  readonly run: { readonly id: string; readonly number: number; readonly reason: string; readonly workspace: string };
}

interface StepData {
  readonly steps: Map<string, JsonObject>;
  readonly state: Map<string, Json>;
}

/**
 * The data that steps pass on. The iterations of a loop share it. Each worker of a fan-out has a copy, so that workers do not see each
 * other's data and pass on nothing but their result.
 */
export class RunScope {
  private constructor(
    private readonly facts: RunFacts,
    private readonly inputs: Json,
    private readonly data: StepData,
    private readonly extras: JsonObject,
  ) {}

  /** Throws `step_data_error` when an input names a value that does not exist. */
  static begin(facts: RunFacts, inputs: JsonObject): RunScope {
    const known = { issue: facts.issue, attempt: facts.attempt, run: { ...facts.run, step_index: 0 } };
    return new RunScope(facts, renderValue(inputs, known), { steps: new Map(), state: new Map() }, {});
  }

  inLoop(extras: JsonObject): RunScope {
    return new RunScope(this.facts, this.inputs, this.data, { ...this.extras, ...extras });
  }

  inWorker(extras: JsonObject): RunScope {
    const { steps, state } = this.data;
    const copy = { steps: new Map(steps), state: new Map(state) };
    return new RunScope(this.facts, this.inputs, copy, { ...this.extras, ...extras });
  }

  record(stepId: string, outputTo: string | null, output: Json, context: Json = null): void {
    this.data.steps.set(stepId, { output, context });
    if (outputTo !== null) this.data.state.set(outputTo, output);
  }

  outputOf(stepId: string): Json {
    return this.data.steps.get(stepId)?.output ?? null;
  }

  values(stepIndex: number): Scope {
    return {
      issue: this.facts.issue,
      attempt: this.facts.attempt,
      run: { ...this.facts.run, step_index: stepIndex },
      inputs: this.inputs,
      steps: Object.fromEntries(this.data.steps),
      state: Object.fromEntries(this.data.state),
      ...this.extras,
    };
  }
}

/**
 * Fills the data of the run into the members of an action that may hold such data. Commands, arguments, names and URLs stay as WORKFLOW.md
 * has them. Throws `BatonError`.
 */
export function renderAction(action: Action, scope: Scope, prompts: Pick<RunPrompts, 'render'>): RenderedAction {
  const map = (value: JsonObject) => renderValue(value, scope) as JsonObject;
  const texts = (values: { readonly [name: string]: string }) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, renderText(value, scope)]));
  switch (action.kind) {
    case 'agent': {
      if (action.backend === 'cli') return { ...action, prompt: prompts.render(action.prompt, scope) };
      const { prompt, input, ...rest } = action;
      return { ...rest, input: input === null ? { prompt: prompts.render(prompt, scope) } : map(input) };
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

/** In characters. The whole conversation is sent with each call of a capability, and a loop can go on for hours. */
const MAX_CONVERSATION_LENGTH = 1_000_000;

/**
 * The conversation of a run as capability executors see it: the opening prompt, then the output of each finished step. A conversation
 * that is too long loses its oldest outputs; a message of the system in their place tells how many.
 */
export class Conversation {
  readonly #messages: ThreadMessage[] = [];
  #count = 0;
  #length = 0;
  #dropped = 0;

  constructor(
    private readonly runId: string,
    private readonly clock: Clock,
  ) {}

  addPrompt(prompt: string): void {
    this.#add('user', prompt);
  }

  addOutput(stepId: string, output: Json): void {
    this.#add('agent', `${stepId}: ${typeof output === 'string' ? output : JSON.stringify(output)}`);
  }

  get messages(): readonly ThreadMessage[] {
    const [prompt, ...outputs] = this.#messages;
    if (prompt === undefined || this.#dropped === 0) return [...this.#messages];
    const content = `[${this.#dropped} older messages are left out]`;
    const mark = { ...prompt, messageId: `${this.runId}-left-out`, sender: 'system', content } as const;
    return [prompt, mark, ...outputs];
  }

  #add(sender: ThreadMessage['sender'], content: string): void {
    const messageId = `${this.runId}-${++this.#count}`;
    this.#messages.push({ messageId, content, sender, timestamp: new Date(this.clock.now().wallMs).toISOString() });
    this.#length += content.length;
    while (this.#length > MAX_CONVERSATION_LENGTH && this.#messages.length > 2) {
      const [oldest] = this.#messages.splice(1, 1);
      this.#length -= oldest?.content.length ?? 0;
      this.#dropped += 1;
    }
  }
}
