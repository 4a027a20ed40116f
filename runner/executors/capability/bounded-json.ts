import { type Fields, fieldsOf } from '../../../src/domain/fields.js';

/** Whoever gets the value may walk it by recursion. */
const MAX_DEPTH = 200;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** A JSON object that came over a wire; `null`: it is none, or is nested beyond reason. */
export function parseObject(bytes: Buffer): Fields | null {
  if (bytes.length === 0 || isDeep(bytes)) return null;
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return fieldsOf(value) === value ? (value as Fields) : null;
  } catch {
    return null;
  }
}

function isDeep(json: Buffer): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (inString) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === 0x5b || byte === 0x7b) depth += 1;
    else if (byte === 0x5d || byte === 0x7d) depth -= 1;
    if (depth > MAX_DEPTH) return true;
  }
  return false;
}
