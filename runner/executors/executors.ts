import { assertNever } from '../../src/domain/json.js';
import type { Outcome } from '../../src/domain/outcome.js';
import type {
  Action,
  CapabilityAction,
  CodeAction,
  ExternalAction,
  LlmAction,
  RenderedAction,
  RenderedAgentCli,
  RenderedAgentHttp,
  ToolAction,
} from '../../src/domain/steps/plan.js';
import type { Executor, StepContext } from './executor.js';

/** One executor for each kind; an agent has one for each backend. */
export interface Executors {
  readonly agentCli: Executor<RenderedAgentCli>;
  readonly agentHttp: Executor<RenderedAgentHttp>;
  readonly external: Executor<ExternalAction>;
  readonly capability: Executor<CapabilityAction>;
  readonly llm: Executor<LlmAction>;
  readonly tool: Executor<ToolAction>;
  readonly code: Executor<CodeAction>;
}

export function execute(executors: Executors, action: RenderedAction, context: StepContext): Promise<Outcome> {
  switch (action.kind) {
    case 'agent':
      return action.backend === 'cli'
        ? executors.agentCli.execute(action, context)
        : executors.agentHttp.execute(action, context);
    case 'external':
      return executors.external.execute(action, context);
    case 'capability':
      return executors.capability.execute(action, context);
    case 'llm':
      return executors.llm.execute(action, context);
    case 'tool':
      return executors.tool.execute(action, context);
    case 'code':
      return executors.code.execute(action, context);
    default:
      return assertNever(action);
  }
}

/** The error code of a step of this kind that exceeds its time limit. */
export const TIMEOUT_CODES = {
  agent_cli: 'turn_timeout',
  agent_http: 'SERVICE_TIMEOUT',
  external: 'AGENT_TIMEOUT',
  capability: 'EXECUTION_TIMEOUT',
  llm: 'SERVICE_TIMEOUT',
  tool: 'SERVICE_TIMEOUT',
  code: 'SERVICE_TIMEOUT',
} as const;

export function executorKey(action: Action | RenderedAction): keyof typeof TIMEOUT_CODES {
  if (action.kind !== 'agent') return action.kind;
  return action.backend === 'cli' ? 'agent_cli' : 'agent_http';
}
