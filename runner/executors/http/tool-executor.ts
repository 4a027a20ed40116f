import type { Json, JsonObject } from '../../../src/domain/json.js';
import { type Outcome, success } from '../../../src/domain/outcome.js';
import type { ToolAction } from '../../../src/domain/steps/plan.js';
import type { Executor, StepContext } from '../executor.js';
import { ServiceClient } from './service-client.js';
import { stepOutcome } from './answers.js';
import { checkOutput, outputSchemaOf } from './tool-schema.js';

/** `kind: tool`: one call of one tool. Its output is the step's output. */
export function createToolExecutor(): Executor<ToolAction> {
  return { execute: (action, context) => stepOutcome(context, () => invoke(action, context)) };
}

async function invoke({ tool, args }: ToolAction, context: StepContext): Promise<Outcome> {
  const { step, signal } = context;
  const client = new ServiceClient('tools', context);
  // Asked for first: what cannot be checked afterwards would have been done all the same, and a retry would do it again.
  const schema = client.service.validateOutput ? await outputSchemaOf(tool, client, context) : null;
  const url = client.url('v1', 'tools', tool, 'invoke');
  const body: JsonObject = {
    args,
    tenant: client.service.tenant,
    ...(step.timeoutMs === null ? {} : { timeout_ms: step.timeoutMs }),
    ...(step.idempotencyKey ? { idempotency_key: step.idempotencyKey } : {}),
  };
  const answer = await client.ask({ method: 'POST', url, body, signal });
  const output = outputOf(answer.body);
  if (output === undefined) throw client.fault('SERVICE_REJECTED', `POST ${url.pathname} answered without output`);
  if (schema !== null) checkOutput(tool, schema, output, client, context);
  return success(output);
}

function outputOf(body: Json): Json | undefined {
  const isMap = typeof body === 'object' && body !== null && !Array.isArray(body);
  return isMap && Object.hasOwn(body, 'output') ? (body as JsonObject).output : undefined;
}
