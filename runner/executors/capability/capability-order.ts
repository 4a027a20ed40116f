import type { Capability, CapabilityInput } from '../../../src/domain/capabilities.js';
import { BatonError } from '../../../src/domain/errors.js';
import { fieldsOf, type Json, type JsonObject, textOf } from '../../../src/domain/json.js';

/** An order to run an executor. */
export interface ExecutorOrder {
  readonly params: JsonObject;
  /** `null`: no time limit except that of the step. */
  readonly timeoutMs: number | null;
}

/** An order to run a capability. */
export interface CapabilityOrder extends ExecutorOrder {
  readonly type: string;
  readonly name: string;
}

/** Throws `INVALID_REQUEST`. Pure. */
export function checkOrder({ type, name, params, timeoutMs }: CapabilityOrder): void {
  const invalid = (need: string) => new BatonError('INVALID_REQUEST', `a capability needs ${need}`);
  if (textOf(type) === null || textOf(name) === null) throw invalid('a type and a name');
  if (fieldsOf(params) !== params) throw invalid('params that are an object');
  if (timeoutMs !== null && !(Number.isFinite(timeoutMs) && timeoutMs > 0)) throw invalid('a timeout above 0');
}

/**
 * The parameters of an executor: those of the caller, defaults for missing ones, and Baton's own, which callers cannot replace.
 * Parameters that capability.yaml does not declare are passed on. Throws `INVALID_REQUEST`. Pure.
 */
export function capabilityParams(capability: Capability, given: JsonObject, executionId: string): JsonObject {
  const params = new Map(Object.entries(given));
  for (const input of capability.inputs) {
    const value = given[input.name] ?? input.default;
    if (value === undefined || value === null) {
      if (input.required) throw refused(capability, `needs the input ${input.name}`);
    } else if (!hasType(value, input)) {
      throw refused(capability, `needs ${input.name} as ${input.type}, not as ${typeName(value)}`);
    } else {
      params.set(input.name, value);
    }
  }
  return {
    // `fromEntries` defines own properties: a parameter named __proto__ stays a plain one.
    ...Object.fromEntries(params),
    capabilityPath: capability.dir,
    capabilityName: capability.name,
    capabilityType: capability.type,
    capabilityConfig: capability.config,
    executionId,
  };
}

function refused({ type, name }: Capability, problem: string): BatonError {
  return new BatonError('INVALID_REQUEST', `the ${type} ${name} ${problem}`, { type, name });
}

const CHECKED_TYPES = new Set(['string', 'number', 'boolean', 'array', 'object']);

/** Unknown types are not checked; the executor knows them. */
function hasType(value: Json, { type }: CapabilityInput): boolean {
  if (type === 'integer') return Number.isInteger(value);
  return CHECKED_TYPES.has(type) ? typeName(value) === type : true;
}

function typeName(value: Json): string {
  return Array.isArray(value) ? 'array' : typeof value;
}
