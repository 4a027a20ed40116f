import { BatonError } from '../../../src/domain/errors.js';
import { isMap, type Json, type JsonObject } from '../../../src/domain/json.js';
import { type Outcome, success } from '../../../src/domain/outcome.js';
import type { ToolAction } from '../../../src/domain/steps/plan.js';
import type { Executor, StepContext } from '../executor.js';
import { validateSchema } from './json-schema.js';
import { shown } from './response-text.js';
import { ServiceClient } from './service-client.js';
import { SharedCalls, stepOutcome } from './step-calls.js';

/** `kind: tool`: one call of one tool. Its output is the step's output. */
export function createToolExecutor(): Executor<ToolAction> {
  return { execute: (action, context) => stepOutcome(context, () => invoke(action, context)) };
}

async function invoke({ tool, args }: ToolAction, context: StepContext): Promise<Outcome> {
  const { step, signal } = context;
  const client = new ServiceClient('tools', context);
  // Before the call: if the schema cannot be read, nothing has been done yet, and a retry does nothing twice.
  const schema = client.service.validateOutput ? await outputSchemaOf(tool, client, context) : null;
  const url = client.url('v1', 'tools', tool, 'invoke');
  const body: JsonObject = {
    args,
    tenant: client.service.tenant,
    ...(step.timeoutMs === null ? {} : { timeout_ms: step.timeoutMs }),
    ...(step.idempotencyKey ? { idempotency_key: step.idempotencyKey } : {}),
  };
  const answer = await client.request({ method: 'POST', url, body, signal });
  const output = outputOf(answer.body);
  if (output === undefined) throw client.fault('SERVICE_REJECTED', `POST ${url.pathname} answered without output`);
  if (schema !== null) checkOutput(tool, schema, output, client, context);
  return success(output);
}

function outputOf(body: Json): Json | undefined {
  const isMap = typeof body === 'object' && body !== null && !Array.isArray(body);
  return isMap && Object.hasOwn(body, 'output') ? (body as JsonObject).output : undefined;
}

/** The schema of a tool's output, read once per run. Returns null, with one warning, when the registry has none. */
async function outputSchemaOf(tool: string, client: ServiceClient, context: StepContext): Promise<Json | null> {
  const schemas = context.resources.get('http/tool-schemas', () => new SharedCalls<Json | null>());
  const schema = await schemas.get(tool, context.signal, (signal) => fetchSchema(tool, client, signal));
  if (schema === null) warnOnce(tool, 'the tool has no schema: its outputs are not checked', {}, context);
  return schema;
}

/** Throws `BatonError` when the output does not match the schema. An unsupported schema checks nothing and is a warning. */
function checkOutput(tool: string, schema: Json, output: Json, client: ServiceClient, context: StepContext): void {
  const verdict = validateSchema(schema, output);
  if (verdict.kind === 'unclear') {
    const reason = shown(verdict.why, client.mask);
    warnOnce(tool, 'the schema of the tool cannot be used: its outputs are not checked', { reason }, context);
  }
  if (verdict.kind !== 'differs') return;
  const where = shown(verdict.at, client.mask, MAX_POINTER) || 'the output';
  const text = `gave an output of ${tool} that is not what its schema says: ${where} ${shown(verdict.why, client.mask)}`;
  throw client.fault('SERVICE_REJECTED', text);
}

const MAX_POINTER = 300;

async function fetchSchema(tool: string, client: ServiceClient, signal: AbortSignal): Promise<Json | null> {
  const url = client.url('v1', 'tools', tool, 'schema');
  try {
    const { body } = await client.request({ method: 'GET', url, signal });
    return unwrapped(body);
  } catch (error) {
    if (error instanceof BatonError && error.details.status === 404) return null;
    throw error;
  }
}

/** None of them is a keyword of JSON Schema, so that an object with one is a wrapper and not a schema. */
const WRAPPERS = ['output_schema', 'outputSchema', 'output', 'schema'] as const;
const MAX_WRAPPERS = 3;

/** The schema is the body itself or lies in it, beside that of the arguments: `{input, output}`, `{schema: {output_schema}}`. */
function unwrapped(answer: Json): Json | null {
  let schema = answer;
  for (let layer = 0; layer < MAX_WRAPPERS; layer++) {
    const map: JsonObject = isMap(schema) ? schema : {};
    const wrapper = WRAPPERS.find((key) => Object.hasOwn(map, key));
    if (wrapper === undefined) break;
    schema = map[wrapper] ?? null;
  }
  return schema;
}

function warnOnce(tool: string, message: string, fields: object, context: StepContext): void {
  context.resources.get(`http/warned/${tool}`, () => {
    context.warn(message, { tool, ...fields });
    return true;
  });
}
