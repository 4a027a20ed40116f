import { createHash } from 'node:crypto';
import type { StartOrder } from '../src/domain/effects.js';
import type { Issue } from '../src/domain/issue.js';
import type { Json } from '../src/domain/json.js';
import type { RunSignal } from '../src/domain/run-signal.js';
import type { PromptSource } from '../src/domain/steps/plan.js';
import type { Scope } from '../src/domain/steps/tokens.js';
import type { Workflow } from '../src/domain/workflow.js';
import type { ContinuationValues } from '../templates/prompts.js';
import { compilePrompt, type Prompt, type PromptValues } from '../templates/render-prompt.js';

/** The values that the prompt of a run can name. `baton render` and `baton check` use the same. */
export function promptValues(
  { issue, attempt, runId, number, reason }: Pick<StartOrder, 'issue' | 'attempt' | 'runId' | 'number' | 'reason'>,
  { path, dir }: Pick<Workflow, 'path' | 'dir'>,
  workspacePath: string,
): PromptValues {
  return { issue, attempt, run: { id: runId, number, reason, workspace: workspacePath }, workflow: { path, dir } };
}

/** Prompts of steps can name the roots of `${…}` and the workflow. */
type StepValues = Scope & { readonly workflow: Json };

interface RunPromptsOptions {
  readonly order: StartOrder;
  readonly workflow: Workflow;
  readonly workspacePath: string;
  readonly continuation: Prompt<ContinuationValues>;
  emit(signal: RunSignal): void;
}

/** Renders the prompts of one run. All methods but `opening` throw `BatonError`. */
export class RunPrompts {
  /** The prompt of a workflow without `steps:`. */
  #implied: string | null = null;

  constructor(private readonly options: RunPromptsOptions) {}

  get values(): PromptValues {
    const { order, workflow, workspacePath } = this.options;
    return promptValues(order, workflow, workspacePath);
  }

  /** For a workflow without `steps:`. Called before any process starts, so that an error in the prompt costs nothing. */
  renderImplied(): void {
    this.#implied = this.#withHash(compilePrompt(this.options.workflow.prompt).render(this.values));
  }

  render(source: PromptSource, scope: Scope): string {
    return this.#implied ?? this.#withHash(this.#compiled(source, scope));
  }

  /** The first message of the conversation. The prompt may name outputs of later steps; then the issue takes its place. */
  opening(scope: Scope): string {
    if (this.#implied !== null) return this.#implied;
    const { order, workflow } = this.options;
    try {
      return this.#compiled(workflow.prompt, scope);
    } catch {
      const { identifier, title, description } = order.issue;
      return `${identifier}: ${title}\n\n${description ?? ''}`.trim();
    }
  }

  continuation(issue: Issue, turn: number, maxTurns: number): string {
    return this.options.continuation.render({ ...this.values, issue, turn, max_turns: maxTurns });
  }

  #compiled(source: PromptSource, scope: Scope): string {
    return compilePrompt<StepValues>(source).render({ ...scope, workflow: this.values.workflow });
  }

  /** The run record keeps hashes only. */
  #withHash(prompt: string): string {
    const { order, emit } = this.options;
    emit({ type: 'rendered', issueHash: sha256(JSON.stringify(order.issue)), promptHash: sha256(prompt) });
    return prompt;
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
