import type { Backend } from '../../domain/steps/plan.js';
import type { ShapeName, StepKind } from './step-schema.js';

const CLI = ['last_message', 'session_id', 'thread_id', 'turns', 'usage', 'stop_reason'];
const HTTP = ['output', 'stop_reason', 'steps'];

const MEMBERS: { readonly [what in Exclude<StepKind | ShapeName, 'agent'>]: readonly string[] | null } = {
  external: ['exit_code', 'duration_ms'],
  llm: ['output', 'model_used', 'usage'],
  code: ['exit_code', 'stdout', 'stderr', 'duration_ms', 'oom', 'killed_reason'],
  loop: ['iterations', 'broke'],
  capability: null,
  tool: null,
  parallel: null,
  fan_out: null,
};

/** What the output of a step has by its nature; `null`: anything. */
export function outputMembers(what: StepKind | ShapeName, backend: Backend | null): readonly string[] | null {
  if (what !== 'agent') return MEMBERS[what];
  return backend === null ? null : backend === 'http' ? HTTP : CLI;
}

/** What is there only when something was too long. */
export function isOfCutOutput(member: string): boolean {
  return /^(?:truncated|bytes|preview)$|_truncated$/.test(member);
}
