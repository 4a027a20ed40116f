/** What comes over a wire or out of a file may be anything; it is read through these. */
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

/** What is found in each of a list; `null` is nothing. A loop, since a poll brings tens of thousands of lists, and `flatMap` takes seven times as long. */
export function foundIn<T>(value: unknown, read: (one: unknown) => T | null): T[] {
  const found: T[] = [];
  for (const one of listOf(value)) {
    const something = read(one);
    if (something !== null) found.push(something);
  }
  return found;
}
