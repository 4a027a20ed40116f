import type { StartOrder } from '../src/domain/effects.js';
import type { Workflow } from '../src/domain/workflow.js';
import type { PromptValues } from '../templates/render-prompt.js';

/** What the prompt of a run can name; `baton render` and `baton check` show the same. */
export function promptValues(
  { issue, attempt, runId, number, reason }: Pick<StartOrder, 'issue' | 'attempt' | 'runId' | 'number' | 'reason'>,
  { path, dir }: Pick<Workflow, 'path' | 'dir'>,
  workspacePath: string,
): PromptValues {
  return { issue, attempt, run: { id: runId, number, reason, workspace: workspacePath }, workflow: { path, dir } };
}
