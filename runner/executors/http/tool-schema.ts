import { BatonError } from '../../../src/domain/errors.js';
import type { Json, JsonObject } from '../../../src/domain/json.js';
import type { StepContext } from '../executor.js';
import { shown } from './error-text.js';
import { holdAgainst } from './json-schema.js';
import type { ServiceClient } from './service-client.js';
import { SharedCalls } from './shared-calls.js';

/** What the registry says about the output of a tool, asked for once per run; `null`: it says nothing, and that is told once. */
export async function outputSchemaOf(tool: string, client: ServiceClient, context: StepContext): Promise<Json | null> {
  const schemas = context.run.get('http/tool-schemas', () => new SharedCalls<Json | null>());
  const schema = await schemas.get(tool, context.signal, (signal) => fetchSchema(tool, client, signal));
  if (schema === null) warnOnce(tool, 'the tool has no schema: its outputs are not checked', {}, context);
  return schema;
}

/** Throws `BatonError` when the output is not what the schema says. A schema beyond us checks nothing, and that is told once. */
export function checkOutput(
  tool: string,
  schema: Json,
  output: Json,
  client: ServiceClient,
  context: StepContext,
): void {
  const verdict = holdAgainst(schema, output);
  if (verdict.kind === 'unclear') {
    const reason = shown(verdict.why, client.mask);
    warnOnce(tool, 'the schema of the tool cannot be used: its outputs are not checked', { reason }, context);
  }
  if (verdict.kind !== 'differs') return;
  const place = shown(verdict.at, client.mask, MAX_PLACE) || 'the output';
  const text = `gave an output of ${tool} that is not what its schema says: ${place} ${shown(verdict.why, client.mask)}`;
  throw client.fault('SERVICE_REJECTED', text);
}

const MAX_PLACE = 300;

async function fetchSchema(tool: string, client: ServiceClient, signal: AbortSignal): Promise<Json | null> {
  const url = client.url('v1', 'tools', tool, 'schema');
  try {
    const { body } = await client.ask({ method: 'GET', url, signal });
    return unwrapped(body);
  } catch (error) {
    if (error instanceof BatonError && error.details.status === 404) return null;
    throw error;
  }
}

/** None of them is a keyword of JSON Schema, so that whatever has one is a wrapper and not a schema. */
const WRAPPERS = ['output_schema', 'outputSchema', 'output', 'schema'] as const;
const MAX_WRAPPERS = 3;

/** The schema may be the answer itself, or lie in it, beside that of the arguments: `{input, output}`, `{schema: {output_schema}}`. */
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

function isMap(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function warnOnce(tool: string, message: string, fields: object, context: StepContext): void {
  context.run.get(`http/warned/${tool}`, () => {
    context.warn(message, { tool, ...fields });
    return true;
  });
}
