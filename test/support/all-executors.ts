import type { StepContext } from '../../runner/executors/executor.js';
import type { Executors } from '../../runner/executors/executors.js';
import type { Outcome } from '../../src/domain/outcome.js';
import type { RenderedAction } from '../../src/domain/steps/plan.js';

/** Executors of every kind, scripted by the test. */
export function allExecutors(execute: (action: RenderedAction, context: StepContext) => Promise<Outcome>): Executors {
  const executor = { execute };
  return {
    agentCli: executor,
    agentHttp: executor,
    external: executor,
    capability: executor,
    llm: executor,
    tool: executor,
    code: executor,
  };
}
