import { fieldsOf } from '../../../../src/domain/fields.js';
import type { JsonObject } from '../../../../src/domain/json.js';
import { type ApiRequest, badRequest, type NestedSide } from './api.js';

/** The first of these members that is text. Throws. */
export function requiredText({ fields }: ApiRequest, ...names: readonly string[]): string {
  const text = optionalText(fields, ...names);
  if (text === null) throw badRequest(`${names[0]} is missing`);
  return text;
}

export function optionalText(fields: ApiRequest['fields'], ...names: readonly string[]): string | null {
  const found = names.map((name) => fields[name]).find((value) => typeof value === 'string' && value !== '');
  return typeof found === 'string' ? found : null;
}

/** What all starts have in common. Throws. */
export function nestedOrder({ fields }: ApiRequest): NestedSide {
  const { params = {}, timeout = null, wait = true } = fields;
  if (params !== null && fieldsOf(params) !== params) throw badRequest('params must be an object');
  const isTime = typeof timeout === 'number' && Number.isFinite(timeout) && timeout > 0;
  if (timeout !== null && !isTime) throw badRequest('timeout must be a number of milliseconds above 0');
  // Node.js runs a longer timer at once.
  const timeoutMs = isTime ? Math.min(timeout, 2 ** 31 - 1) : null;
  return { params: (params ?? {}) as JsonObject, timeoutMs, wait: wait !== false };
}
