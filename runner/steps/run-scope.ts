import type { Json, JsonObject } from '../../src/domain/json.js';
import { renderValue, type Scope } from '../../src/domain/steps/tokens.js';

/** What a run begins with: everything that `${…}` can name before the first step. */
export interface RunFacts {
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
