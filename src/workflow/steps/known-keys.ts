import { z } from 'zod';
import type { KeyPath } from '../positions.js';

/** The keys that a schema knows on the level of the last part of `path`. */
export function knownKeysAt(schema: z.ZodType, path: KeyPath): readonly string[] {
  let current: z.ZodType | null = inner(schema);
  for (const part of path.slice(0, -1)) {
    const next: unknown = current instanceof z.ZodObject ? current.shape[String(part)] : null;
    current = next instanceof z.ZodType ? inner(next) : null;
  }
  return current instanceof z.ZodObject ? Object.keys(current.shape) : [];
}

/** What is left of a setting without its default and its description. */
function inner(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return inner(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodNonOptional) return inner(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodPipe) return inner(schema.in as z.ZodType);
  return schema;
}
