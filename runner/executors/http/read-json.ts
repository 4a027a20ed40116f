import type { Json } from '../../../src/domain/json.js';
import { isNestedTooDeep } from '../bounded-json.js';

export type JsonReading =
  | { readonly ok: true; readonly value: Json }
  /** `problem` goes on from "the answer …". */
  | { readonly ok: false; readonly problem: string };

/** Deep enough for any output, shallow enough for everybody who walks through it by recursion, `JSON.stringify` among them. */
const MAX_DEPTH = 200;

/** Reads a body as JSON that can be written down and read again without a change. */
export function readJson(body: Buffer): JsonReading {
  if (body.length === 0) return { ok: false, problem: 'has an empty body' };
  if (isNestedTooDeep(body)) return { ok: false, problem: 'is nested too deep' };
  let value: Json;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return { ok: false, problem: 'is not JSON' };
  }
  const problem = problemIn(value, 0);
  return problem === null ? { ok: true, value } : { ok: false, problem };
}

function problemIn(value: Json, depth: number): string | null {
  // `1e999` is read as Infinity, which JSON cannot write.
  if (typeof value === 'number') return Number.isFinite(value) ? null : 'holds a number that is too large';
  if (typeof value !== 'object' || value === null) return null;
  if (depth >= MAX_DEPTH) return 'is nested too deep';
  for (const child of Object.values(value)) {
    const problem = problemIn(child, depth + 1);
    if (problem !== null) return problem;
  }
  return null;
}
