import { type Fields, fieldsOf } from '../../src/domain/json.js';

/**
 * Is this JSON nested beyond reason? Parsing it would not crash, but a few MB of brackets hold the event loop for seconds. Short lines
 * cannot nest deeply enough to matter and are not looked at.
 */
const MAX_DEPTH = 1_000;
const SHORT_BYTES = 64 * 1024;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);

export function isNestedTooDeep(json: Buffer): boolean {
  if (json.length <= SHORT_BYTES) return false;
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at] as number;
    if (byte === QUOTE) at = endOfString(json, at);
    else if (OPENING.has(byte)) depth += 1;
    else if (CLOSING.has(byte)) depth -= 1;
    if (depth > MAX_DEPTH) return true;
  }
  return false;
}

/** Where the string that opens at `start` closes; the end of the line when it does not. */
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

/** Whoever gets the value may walk it by recursion. */
const BOUNDED_JSON_MAX_DEPTH = 200;

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
    if (depth > BOUNDED_JSON_MAX_DEPTH) return true;
  }
  return false;
}
