import type { CapabilityInput } from '../../domain/capabilities.js';
import { BatonError } from '../../domain/errors.js';
import { fieldsOf } from '../../domain/fields.js';
import type { Json, JsonObject } from '../../domain/json.js';

/**
 * What a capability is called with: `--params` as a whole, then each `--param key=value`. A value is text, unless capability.yaml
 * says that its input is something else. Throws `INVALID_REQUEST`. Pure.
 */
export function readParams(
  json: string | undefined,
  pairs: readonly string[],
  inputs: readonly CapabilityInput[],
): JsonObject {
  const single = pairs.map((pair) => readPair(pair, inputs));
  // Not by assignment: a parameter named __proto__ is a plain one.
  return Object.fromEntries([...Object.entries(json === undefined ? {} : readObject(json)), ...single]);
}

function readObject(json: string): JsonObject {
  const value = parsed(json);
  if (value === undefined || fieldsOf(value) !== value) {
    throw invalid(`--params must be a JSON object, such as '{"name": "value"}'`);
  }
  return value as JsonObject;
}

function readPair(pair: string, inputs: readonly CapabilityInput[]): [string, Json] {
  const at = pair.indexOf('=');
  if (at < 1) throw invalid(`--param must be key=value, not ${JSON.stringify(pair)}`);
  const [key, text] = [pair.slice(0, at), pair.slice(at + 1)];
  const { type = 'string' } = inputs.find(({ name }) => name === key) ?? {};
  if (!JSON_TYPES.has(type)) return [key, text];
  const value = parsed(text);
  if (value === undefined) throw invalid(`--param ${key} must be ${type}, as JSON, not ${JSON.stringify(text)}`);
  return [key, value];
}

const JSON_TYPES = new Set(['number', 'integer', 'boolean', 'array', 'object']);

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

function invalid(message: string): BatonError {
  return new BatonError('INVALID_REQUEST', message);
}
