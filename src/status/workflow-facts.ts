import type { Workflow } from '../domain/config.js';
import { allSteps, type ResolvedBackend } from '../domain/steps/plan.js';

/** What the state says about the workflow in force. */
export interface WorkflowFacts {
  readonly path: string;
  /** What `backend: auto` stands for, and who said so. */
  readonly backend: Pick<ResolvedBackend, 'value' | 'source'>;
  /** Those inside other steps too; 0: it has no `steps:`. */
  readonly steps: number;
}

export function workflowFacts({ path, plan }: Workflow): WorkflowFacts {
  const { value, source } = plan.backend;
  return { path, backend: { value, source }, steps: plan.isImplied ? 0 : [...allSteps(plan.steps)].length };
}
