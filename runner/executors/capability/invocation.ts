import type { JsonObject } from '../../../src/domain/json.js';
import type { StepContext } from '../executor.js';

/** In whose name an execution runs: the step is the parent agent, the run is its thread. */
export interface ParentIdentity {
  readonly threadId: string;
  readonly agentId: string;
  readonly agentInstanceId: string;
}

export function parentOf({ runId, step }: StepContext): ParentIdentity {
  return { threadId: runId, agentId: step.id, agentInstanceId: `${runId}-${step.index}` };
}

export interface Invocation {
  readonly sideExecutionId: string;
  /** Of the executor. */
  readonly name: string;
  readonly params: JsonObject;
}

/** What a child is told once it has connected: all that its handler gets. It goes over the socket, as it may be large. */
export function invocationMessage({ sideExecutionId, name, params }: Invocation, context: StepContext): JsonObject {
  const { threadId, agentId, agentInstanceId } = parentOf(context);
  const timestamp = new Date(context.clock.now().wallMs).toISOString();
  const facts = {
    sideExecutionId,
    threadId,
    parentAgentId: agentId,
    parentAgentInstanceId: agentInstanceId,
    timestamp,
  };
  return {
    type: 'actionBlockInvocation',
    ...facts,
    actionBlockName: name,
    params,
    threadContext: {
      threadId,
      messages: context.messages().map((message) => ({ ...message, threadId })),
      projectPath: context.workspace,
      agentId,
      agentInstanceId,
      metadata: metadataOf(context),
      params,
    },
    metadata: facts,
  };
}

function metadataOf({ issue, runId, attempt, step }: StepContext): JsonObject {
  const { id, identifier, title, state, url } = issue;
  return { runId, attempt, stepId: step.id, issue: { id, identifier, title, state, url } };
}
