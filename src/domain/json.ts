export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/** Ends every switch over a union. The compiler proves that it is never reached. */
export function assertNever(value: never): never {
  throw new Error(`unexpected value: ${JSON.stringify(value)}`);
}

/** Unvalidated data from a wire or a file, for the readers below. */
export type Fields = { readonly [key: string]: unknown };

export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

export function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

/** Is this a map, and not a list? */
export function isMap(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Milliseconds of an ISO 8601 time; null for anything else. */
export function timeOf(value: unknown): number | null {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}

/** The non-null results for each entry of a list. A loop, because a poll reads tens of thousands of lists and `flatMap` is seven times slower. */
export function foundIn<T>(value: unknown, read: (one: unknown) => T | null): T[] {
  const found: T[] = [];
  for (const one of listOf(value)) {
    const something = read(one);
    if (something !== null) found.push(something);
  }
  return found;
}

/**
 * Do the tokens of a YAML parser nest deeper than `maxDepth`? Callers check this before they compose a document, because the composer is
 * recursive and a deeply nested text would end the whole process.
 */
export function isNestedDeeper(tokens: Iterable<unknown>, maxDepth: number): boolean {
  const pending: { token: unknown; depth: number }[] = [];
  for (const token of tokens) pending.push({ token, depth: 0 });
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { token, depth } = next;
    if (typeof token !== 'object' || token === null) continue;
    if (depth > maxDepth) return true;
    const { value, items = [] } = token as Token;
    pending.push({ token: value, depth });
    for (const item of items) {
      pending.push({ token: item.key, depth: depth + 1 }, { token: item.value, depth: depth + 1 });
    }
  }
  return false;
}

interface Token {
  readonly value?: unknown;
  readonly items?: readonly { readonly key?: unknown; readonly value?: unknown }[];
}
