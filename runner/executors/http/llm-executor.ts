import type { Json, JsonObject } from '../../../src/domain/json.js';
import { fieldsOf, listOf, textOf } from '../../../src/domain/json.js';
import { type Outcome, success } from '../../../src/domain/outcome.js';
import type { LlmAction } from '../../../src/domain/steps/plan.js';
import type { Executor, StepContext } from '../executor.js';
import { errorTextIn } from './response-text.js';
import { ServiceClient } from './service-client.js';
import { stepOutcome } from './step-calls.js';

/** `kind: llm`: one completion from the gateway. */
export function createLlmExecutor(): Executor<LlmAction> {
  return { execute: (action, context) => stepOutcome(context, () => complete(action, context)) };
}

async function complete(action: LlmAction, context: StepContext): Promise<Outcome> {
  const { signal, step } = context;
  const client = new ServiceClient('gateway', context);
  const url = client.url('v1', 'chat', 'completions');
  const { idempotencyKey } = step;
  const { body } = await client.request({ method: 'POST', url, body: requestOf(action), idempotencyKey, signal });
  const { choices, model, usage } = fieldsOf(body);
  const { content } = fieldsOf(fieldsOf(listOf(choices)[0]).message);
  if (typeof content !== 'string') {
    const reason = errorTextIn(body);
    const text = `answered without choices[0].message.content${reason === null ? '' : `: ${reason}`}`;
    throw client.fault('SERVICE_REJECTED', `POST ${url.pathname} ${text}`);
  }
  return success({ output: content, model_used: textOf(model), usage: (usage ?? null) as Json });
}

function requestOf({ model, prompt, maxTokens, temperature, stop }: LlmAction): JsonObject {
  return {
    model,
    messages: [{ role: 'user', content: prompt }],
    ...(maxTokens === null ? {} : { max_tokens: maxTokens }),
    ...(temperature === null ? {} : { temperature }),
    ...(stop === null ? {} : { stop }),
  };
}
