import { type Fields, fieldsOf } from '../../src/domain/json.js';

/** Shorter lines cannot be nested deeply enough to matter, and are not checked. */
const SHORT_BYTES = 64 * 1024;
const MAX_LINE_DEPTH = 1_000;
/** The value of `parseObject` may be walked by recursion. */
const MAX_OBJECT_DEPTH = 200;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);

/** Parses a JSON object from a connection. Returns `null` for anything else, and for JSON that is nested too deeply. */
export function parseObject(bytes: Buffer): Fields | null {
  if (bytes.length === 0 || isDeeper(bytes, MAX_OBJECT_DEPTH)) return null;
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return fieldsOf(value) === value ? (value as Fields) : null;
  } catch {
    return null;
  }
}

/** Parsing a few MB of brackets would not crash, but would block the event loop for seconds. */
export function isNestedTooDeep(json: Buffer): boolean {
  return json.length > SHORT_BYTES && isDeeper(json, MAX_LINE_DEPTH);
}

function isDeeper(json: Buffer, maxDepth: number): boolean {
  let depth = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at] as number;
    if (byte === QUOTE) at = endOfString(json, at);
    else if (OPENING.has(byte)) depth += 1;
    else if (CLOSING.has(byte)) depth -= 1;
    if (depth > maxDepth) return true;
  }
  return false;
}

/** The position of the quote that closes the string, or the length of the JSON. */
function endOfString(json: Buffer, start: number): number {
  let end = json.indexOf(QUOTE, start + 1);
  while (end !== -1 && isEscaped(json, end)) end = json.indexOf(QUOTE, end + 1);
  return end === -1 ? json.length : end;
}

function isEscaped(json: Buffer, at: number): boolean {
  let backslashes = 0;
  while (json[at - 1 - backslashes] === BACKSLASH) backslashes += 1;
  return backslashes % 2 === 1;
}
