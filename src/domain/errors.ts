import type { ErrorScope } from './error-table.js';
import { ERRORS } from './error-table.js';

export type ErrorCode = keyof typeof ERRORS;

export class BatonError extends Error {
  override readonly name = 'BatonError';

  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly details: { readonly [key: string]: unknown } = {},
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code);
}

export function scopeOf(code: ErrorCode): ErrorScope {
  return ERRORS[code].scope;
}

/** What an unknown thrown value becomes at the edge of a module that must not throw anything else. */
export function toBatonError(error: unknown, fallback: ErrorCode = 'internal_error'): BatonError {
  if (error instanceof BatonError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new BatonError(fallback, message, {}, { cause: error });
}
