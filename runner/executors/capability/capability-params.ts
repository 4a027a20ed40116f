import type { Capability, CapabilityInput } from '../../../src/domain/capabilities.js';
import { BatonError } from '../../../src/domain/errors.js';
import { fieldsOf, textOf } from '../../../src/domain/fields.js';
import type { Json, JsonObject } from '../../../src/domain/json.js';

export interface SideOrder {
  readonly params: JsonObject;
  /** `null`: none of its own. */
  readonly timeoutMs: number | null;
}

export interface CapabilityOrder extends SideOrder {
  readonly type: string;
  readonly name: string;
}

/** Throws `INVALID_REQUEST`. Pure. */
export function checkOrder({ type, name, params, timeoutMs }: CapabilityOrder): void {
  const invalid = (what: string) => new BatonError('INVALID_REQUEST', `a capability is started with ${what}`);
  if (textOf(type) === null || textOf(name) === null) throw invalid('a type and a name');
  if (fieldsOf(params) !== params) throw invalid('params that are an object');
  if (timeoutMs !== null && !(Number.isFinite(timeoutMs) && timeoutMs > 0)) throw invalid('a timeout above 0');
}

/**
 * What an executor is called with: the caller's parameters, defaults where there are none, and ours, which nobody can replace.
 * Parameters that capability.yaml does not name pass through. Throws `INVALID_REQUEST`. Pure.
 */
export function capabilityParams(capability: Capability, given: JsonObject, executionId: string): JsonObject {
  const filled = new Map(Object.entries(given));
  for (const input of capability.inputs) {
    const value = given[input.name] ?? input.default;
    if (value === undefined || value === null) {
      if (input.required) throw refused(capability, `needs ${input.name}, which is missing`);
    } else if (!suits(value, input)) {
      throw refused(capability, `needs ${input.name} as ${input.type}, not as ${kindOf(value)}`);
    } else {
      filled.set(input.name, value);
    }
  }
  return {
    // Not by assignment: a parameter named __proto__ must stay a plain one.
    ...Object.fromEntries(filled),
    capabilityPath: capability.dir,
    capabilityName: capability.name,
    capabilityType: capability.type,
    capabilityConfig: capability.config,
    executionId,
  };
}

function refused({ type, name }: Capability, what: string): BatonError {
  return new BatonError('INVALID_REQUEST', `the ${type} ${name} ${what}`, { type, name });
}

/** Types that we do not know are the executor's business. */
function suits(value: Json, { type }: CapabilityInput): boolean {
  if (type === 'integer') return Number.isInteger(value);
  return KINDS.has(type) ? kindOf(value) === type : true;
}

const KINDS = new Set(['string', 'number', 'boolean', 'array', 'object']);

function kindOf(value: Json): string {
  return Array.isArray(value) ? 'array' : typeof value;
}
