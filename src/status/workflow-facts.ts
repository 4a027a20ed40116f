import type { Workflow } from '../domain/config.js';
import { allSteps, type ResolvedBackend } from '../domain/steps/plan.js';

/** What the state says about the workflow in force, and about the file where that is another by now. */
export interface WorkflowFacts extends WorkflowFile {
  readonly path: string;
  /** What `backend: auto` stands for, and who said so. */
  readonly backend: Pick<ResolvedBackend, 'value' | 'source'>;
  /** Those inside other steps too; 0: it has no `steps:`. */
  readonly steps: number;
}

/** How the file stands to what is in force. */
export interface WorkflowFile {
  readonly loadedAtMs: number;
  /** Why the file as it is now is not in effect. */
  readonly error: { readonly code: string; readonly message: string } | null;
  /** Keys that were changed and keep their old values until a restart. */
  readonly restartRequired: readonly string[];
}

export function workflowFacts({ path, plan }: Workflow, file: WorkflowFile): WorkflowFacts {
  const { value, source } = plan.backend;
  const steps = plan.isImplied ? 0 : [...allSteps(plan.steps)].length;
  return { ...file, path, backend: { value, source }, steps };
}
